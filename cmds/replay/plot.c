// SPDX-License-Identifier: BSD-2-Clause
/* Draw byte counts over time as an SVG plot. */
#include "cmds/replay/plot.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 860, HEIGHT = 420, LEFT = 80, RIGHT = 180, TOP = 40, BOTTOM = 50 };

/* Colours that most eyes can distinguish, and in grey by their order. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
				      "#e69f00", "#56b4e9", "#000000"};

static double to_x(double v)
{
	return LEFT + v * (WIDTH - LEFT - RIGHT);
}

static double to_y(double v, double top)
{
	return HEIGHT - BOTTOM - v / top * (HEIGHT - TOP - BOTTOM);
}

static void text(struct mz_buf *out, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '<': mz_buf_str(out, "&lt;"); break;
		case '>': mz_buf_str(out, "&gt;"); break;
		case '&': mz_buf_str(out, "&amp;"); break;
		case '"': mz_buf_str(out, "&quot;"); break;
		default:
			if ((unsigned char)*s >= 0x20)
				mz_buf_add(out, s, 1);
		}
	}
}

/* A round step that gives about five lines; in KiB, MiB, GiB. */
static double step_of(double top, double *unit, const char **name)
{
	static const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	unsigned u = 0;
	double raw, base;

	*unit = 1;
	while (top / *unit >= 1024 * 1.5 && u < 4) {
		*unit *= 1024;
		u++;
	}
	*name = names[u];
	raw = top / *unit / 5;
	base = pow(10, floor(log10(raw > 0 ? raw : 1)));
	if (raw / base > 5)
		base *= 10;
	else if (raw / base > 2)
		base *= 5;
	else if (raw / base > 1)
		base *= 2;
	return base * *unit;
}

static void axes(struct mz_buf *out, double top, const char *x_name)
{
	const char *unit_name;
	double unit, step = step_of(top, &unit, &unit_name);

	for (double v = 0; v <= top; v += step) {
		double y = to_y(v, top);

		mz_buf_printf(
			out,
			"<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g %s</text>\n",
			LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4, v / unit, unit_name);
	}
	for (unsigned i = 0; i <= 4; i++)
		mz_buf_printf(out,
			      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%u %%</text>\n",
			      to_x(i / 4.0), HEIGHT - BOTTOM + 18, i * 25);
	mz_buf_printf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", to_x(0.5),
		      HEIGHT - 12);
	text(out, x_name);
	mz_buf_str(out, "</text>\n");
}

static void draw(struct mz_buf *out, const struct plot_line *l, double top, const char *colour)
{
	mz_buf_str(out, l->area ? "<polygon points=\"" : "<polyline points=\"");
	if (l->area)
		mz_buf_printf(out, "%.1f,%.1f ", to_x(l->x[0]), to_y(0, top));
	for (size_t i = 0; i < l->count; i++)
		mz_buf_printf(out, "%.1f,%.1f ", to_x(l->x[i]), to_y(l->y[i], top));
	if (l->area)
		mz_buf_printf(out, "%.1f,%.1f\" fill=\"#ccc\" stroke=\"none\"/>\n",
			      to_x(l->x[l->count - 1]), to_y(0, top));
	else
		mz_buf_printf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
			      colour);
}

static void legend(struct mz_buf *out, const struct plot_line *l, size_t i, const char *colour)
{
	int x = WIDTH - RIGHT + 16, y = TOP + 10 + (int)i * 20;

	mz_buf_printf(out, "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"%d\" fill=\"%s\"/>\n", x,
		      l->area ? y - 9 : y - 5, l->area ? 10 : 3, l->area ? "#ccc" : colour);
	mz_buf_printf(out, "<text x=\"%d\" y=\"%d\">", x + 20, y);
	text(out, l->name);
	mz_buf_str(out, "</text>\n");
}

void plot_svg(struct mz_buf *out, const char *title, const char *x_name,
	      const struct plot_line *lines, size_t count)
{
	double top = 1;
	size_t colour = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < lines[i].count; k++)
			top = lines[i].y[k] > top ? lines[i].y[k] : top;
	top *= 1.05;
	mz_buf_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		      "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
		      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
		      "<text x=\"%d\" y=\"22\" font-size=\"15\">",
		      WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT);
	text(out, title);
	mz_buf_str(out, "</text>\n");
	axes(out, top, x_name);
	for (size_t i = 0; i < count; i++) {
		const char *c = colours[colour % (sizeof(colours) / sizeof(*colours))];

		if (lines[i].count)
			draw(out, &lines[i], top, c);
		legend(out, &lines[i], i, c);
		colour += !lines[i].area;
	}
	mz_buf_str(out, "</svg>\n");
}
