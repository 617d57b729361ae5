# SPDX-License-Identifier: BSD-2-Clause
"""The programs of programs.py: how they are made, started and loaded.

exact    they make the same calls in every run, so counts must be equal
runtime  code without unwind tables runs in them: heaptrack's rooted share is the bar
own      they have an allocator of their own, which must be said
result   a file that is part of the output
load     a server: a command that talks to it and ends it; what it prints is the output"""
import os, shutil, subprocess

FILES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'workloads')

REDIS = '''until redis-cli -p 6397 ping > /dev/null 2>&1; do sleep 0.05; done
redis-benchmark -p 6397 -n 20000 -r 2000 -q -t set,lpush,hset > /dev/null
redis-cli -p 6397 incrby n 41; redis-cli -p 6397 incr n; redis-cli -p 6397 shutdown nosave'''
NGINX = '''until [ -s nginx.pid ] && curl -sf http://127.0.0.1:6398/page > /dev/null; do sleep 0.05; done
for i in $(seq 300); do echo url = http://127.0.0.1:6398/page; done > urls
curl -s -K urls | cksum; kill -QUIT $(cat nginx.pid)'''
JQ = r'[range(30000) | {a: ., b: "x\(.)"}] | group_by(.a % 7) | map(length)'


def of(name):
    return os.path.join(FILES, name)


def say(*argv):
    try:
        return subprocess.run(argv, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ''


def sh(*argv):
    subprocess.run(argv, check=True)


def make_c():
    with open('c.c', 'w') as f:
        f.write('#include <stdio.h>\n#include <stdlib.h>\n')
        for i in range(800):
            f.write('int f%d(int x) { return printf("%%d", x * %d) + atoi("%d"); }\n' % (i, i, i))


def make_repository():
    """600 commits over 40 files."""
    if os.path.isdir('repo'):
        return
    said = b''
    for i in range(600):
        body = ''.join('line %d %d\n' % (i, k) for k in range(i % 60 + 3)).encode()
        said += (b'commit refs/heads/main\ncommitter A <a@b> %d +0000\ndata 2\nc\n' % (1500000000 + i)
                 + b'M 100644 inline f%d\ndata %d\n%s\n' % (i % 40, len(body), body))
    sh('git', 'init', '-q', '-b', 'main', 'repo')
    subprocess.run(['git', '-C', 'repo', 'fast-import', '--quiet'], input=said, check=True)


def make_nginx():
    text = open(of('nginx.conf')).read().replace('@HERE@', os.getcwd())
    open('nginx.conf', 'w').write(text)
    open('page', 'w').write('x' * 5000)


def program(name, *argv, **more):
    return dict(more, name=name, argv=list(argv))


def compilers():
    arch = say('gcc', '-print-multiarch')
    ggc_table = 4096 * 8  # of the garbage collector, for each 16 MiB of addresses that it has pages in
    cc1, cc1plus = (say('gcc', '-print-prog-name=' + n) or n for n in ('cc1', 'cc1plus'))
    return [
        program('cc1', cc1, '-quiet', '-O1', '-imultiarch', arch, '-o', 'c.s', 'c.c', make=make_c, exact=True, tables=ggc_table,
                result='c.s'),
        program('cc1plus', cc1plus, '-quiet', '-O1', '-D_GNU_SOURCE', '-imultiarch', arch, '-o', 'b.s', of('templates.cc'),
                exact=True, tables=ggc_table, result='b.s'),
        program('rustc', '/usr/bin/rustc', '-O', '--emit=obj', '-o', 'churn.o', of('churn.rs'), result='churn.o'),
    ]


def interpreters():
    return [
        program('python3', '/usr/bin/python3', of('churn.py'), runtime=True, exact=True,
                env={'PYTHONHASHSEED': '0', 'PYTHONDONTWRITEBYTECODE': '1', 'OPENBLAS_NUM_THREADS': '1'}),
        program('perl', '/usr/bin/perl', of('churn.pl'), exact=True, env={'PERL_HASH_SEED': '0'}),
        program('ruby', '/usr/bin/ruby', of('churn.rb')),
        program('php', '/usr/bin/php', of('churn.php')),
        program('node', 'node', of('churn.js'), runtime=True),
        program('java', 'java', '-XX:-UsePerfData', '-cp', '.', 'Churn', runtime=True, need='javac',
                make=lambda: sh('javac', '-d', '.', of('Churn.java'))),
    ]


def tools():
    return [
        program('sqlite3', 'sqlite3', ':memory:', '.read ' + of('bulk.sql'), exact=True),
        program('git log', 'git', '-C', 'repo', 'log', '-p', '--stat', make=make_repository, exact=True),
        program('git pack-objects', 'git', '-C', 'repo', 'pack-objects', '--all', '--threads=1', '--stdout', '-q',
                make=make_repository, exact=True),
        program('vim', 'vim', '-u', 'NONE', '-i', 'NONE', '-n', '-es', '-S', of('edit.vim'), result='vim.out', before='rm -f vim.out'),
        program('jq', 'jq', '-n', JQ, exact=True),
        program('ffmpeg', 'ffmpeg', '-v', 'error', '-f', 'lavfi', '-i', 'testsrc=d=2:s=320x240', '-threads', '2', '-c:v', 'mpeg4',
                '-f', 'md5', '-'),
        program('convert', '/usr/bin/convert', '-size', '600x400', 'gradient:', '-resize', '50%', '-blur', '0x3', '-format', '%w %h %#\n',
                'info:', env={'MAGICK_THREAD_LIMIT': '1', 'OMP_NUM_THREADS': '1'}),
    ]


def catalogue():
    storm = os.path.join(os.environ.get('MZ_BUILD', ''), 'tests/tools/storm')
    here = os.getcwd()
    return [
        program('C++, one thread', './loop', exact=True, need='g++', make=lambda: sh('g++', '-O1', '-g', '-o', 'loop', of('loop.cc'))),
        program('C++, 4 threads', storm, '4', '50000'),
        program('Rust', './churn', exact=True, need='/usr/bin/rustc', make=lambda: sh('/usr/bin/rustc', '-O', '-o', 'churn', of('churn.rs'))),
    ] + interpreters() + tools() + compilers() + [
        program('redis-server', 'redis-server', '--port', '6397', '--save', '', '--appendonly', 'no', '--logfile', here + '/redis.log', load=REDIS),
        program('nginx', '/usr/sbin/nginx', '-c', here + '/nginx.conf', load=NGINX, before='rm -f nginx.pid', make=make_nginx),
        program('chromium', '/usr/lib/chromium/chromium', '--headless', '--no-sandbox', '--disable-gpu', '--dump-dom', 'data:text/html,<p>hello', own=True),
    ]
