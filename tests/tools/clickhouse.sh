# SPDX-License-Identifier: BSD-2-Clause
# Start ClickHouse servers of our own: . "$MZ_ROOT/tests/tools/clickhouse.sh"
# clickhouse_start NAME: a server in ./NAME; its port is in ./NAME/port, its process in ./NAME/pid.
# It listens on 127.0.0.1 alone, and knows one user with a password: "fleet", "secret".

clickhouse_config() { # NAME
	mkdir -p "$1/data" "$1/tmp"
	cat > "$1/config.xml" <<-END
	<yandex>
	  <logger><level>warning</level><log>$PWD/$1/log</log><errorlog>$PWD/$1/err</errorlog></logger>
	  <listen_host>127.0.0.1</listen_host>
	  <http_port>$(cat "$1/port")</http_port><tcp_port>$(cat "$1/tcp")</tcp_port>
	  <max_connections>200</max_connections><mark_cache_size>268435456</mark_cache_size>
	  <path>$PWD/$1/data/</path><tmp_path>$PWD/$1/tmp/</tmp_path>
	  <users_config>$PWD/$1/users.xml</users_config>
	  <default_profile>default</default_profile><default_database>default</default_database>
	  <compression><case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio><method>zstd</method></case></compression>
	</yandex>
	END
	cat > "$1/users.xml" <<-END
	<yandex>
	  <profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles>
	  <users><fleet><password>secret</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></fleet></users>
	  <quotas><default><interval><duration>3600</duration><queries>0</queries><errors>0</errors><result_rows>0</result_rows><read_rows>0</read_rows><execution_time>0</execution_time></interval></default></quotas>
	</yandex>
	END
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
clickhouse_start() {
	mkdir -p "$1"
	[ -s "$1/port" ] || { free_port > "$1/port"; free_port > "$1/tcp"; clickhouse_config "$1"; }
	clickhouse-server --config-file="$PWD/$1/config.xml" > "$1/out" 2>&1 &
	echo $! > "$1/pid"
	n=0
	until python3 -c "import urllib.request; urllib.request.urlopen('http://127.0.0.1:$(cat "$1/port")/ping').read()" 2> /dev/null; do
		kill -0 "$(cat "$1/pid")" 2> /dev/null || return 1
		[ $n -ge 6000 ] && return 1
		n=$((n + 1))
		sleep 0.1
	done
}
clickhouse_kill() { # NAME: as if the power of its process went
	kill -9 "$(cat "$1/pid")" 2> /dev/null
	wait "$(cat "$1/pid")" 2> /dev/null
	rm -f "$1/pid"
}
clickhouse_stop() {
	[ -s "$1/pid" ] || return 0
	kill "$(cat "$1/pid")" 2> /dev/null
	wait "$(cat "$1/pid")" 2> /dev/null
	rm -f "$1/pid"
}
