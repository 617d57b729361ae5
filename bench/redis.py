# SPDX-License-Identifier: BSD-2-Clause
"""Requests per second that redis-server serves bare, recorded, and recorded with stacks, in turn:
for each the median of N runs of SET, LPUSH and HSET. redis.py N REQUESTS"""
import csv, statistics, subprocess, sys, time

PORT = '6399'
SERVER = ['redis-server', '--port', PORT, '--save', '', '--appendonly', 'no', '--logfile', 'redis.log']
RECORD = ['memorizer', 'record', '-f', '-o', 'redis.cmt']
WAYS = [[], RECORD + ['--'], RECORD + ['--stacks', '--']]


def answers():
    return subprocess.run(['redis-cli', '-p', PORT, 'ping'], capture_output=True).stdout == b'PONG\n'


def wait_for(server):
    while not answers():
        if server.poll() is not None:
            sys.exit('redis-server has ended')
        time.sleep(0.05)


def rate(way, requests):
    """Requests of all three kinds, and the time that they took together."""
    server = subprocess.Popen(way + SERVER, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for(server)
    said = subprocess.run(['redis-benchmark', '-p', PORT, '-n', str(requests), '-r', '10000', '--csv', '-t', 'set,lpush,hset'],
                          capture_output=True, text=True, check=True).stdout
    subprocess.run(['redis-cli', '-p', PORT, 'shutdown', 'nosave'], capture_output=True)
    if server.wait():
        sys.exit('status %d: %s' % (server.returncode, ' '.join(way)))
    rates = [float(r[1]) for r in csv.reader(said.splitlines()) if r and r[0] in ('SET', 'LPUSH', 'HSET')]
    if len(rates) != 3:
        sys.exit('redis-benchmark said: ' + said)
    return len(rates) / sum(1 / r for r in rates)


rates = [[] for _ in WAYS]
for _ in range(int(sys.argv[1])):
    for got, way in zip(rates, WAYS):
        got.append(rate(way, int(sys.argv[2])))
for got in rates:
    print(round(statistics.median(got)))
