<?php
// SPDX-License-Identifier: BSD-2-Clause
// Arrays of strings, and JSON.
$h = [];
for ($i = 0; $i < 100000; $i++)
	$h[$i % 997][] = str_repeat("v$i", 3);
echo array_sum(array_map(fn($v) => strlen(implode(",", $v)), $h)), " ", strlen(json_encode($h)), "\n";
