// SPDX-License-Identifier: BSD-2-Clause
// Maps of lists, zlib, and threads that keep the compilers busy.
import java.util.*;
import java.util.zip.Deflater;

public class Churn {
	static void work() {
		long s = 0;
		for (int k = 0; k < 2000000; k++)
			s += Long.toString(k).length();
		if (s == 0)
			System.out.println(s);
	}

	public static void main(String[] args) throws Exception {
		Map<Integer, List<String>> h = new TreeMap<>();
		for (int i = 0; i < 200000; i++)
			h.computeIfAbsent(i % 997, k -> new ArrayList<>()).add("value " + i);
		Deflater d = new Deflater();
		d.setInput(h.toString().getBytes());
		d.finish();
		System.out.println(h.size() + " " + (d.deflate(new byte[1 << 22]) > 0));
		Thread[] t = new Thread[4];
		for (int i = 0; i < 4; i++) {
			t[i] = new Thread(Churn::work);
			t[i].start();
		}
		for (Thread x : t)
			x.join();
	}
}
