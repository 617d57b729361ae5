# SPDX-License-Identifier: BSD-2-Clause
# Hashes of lists, and a substitution.
my %h;
push @{$h{$_ % 997}}, "value $_" for 1 .. 60000;
my $s = join ",", map { scalar @{$h{$_}} } sort { $a <=> $b } keys %h;
$s =~ s/(\d+)/<$1>/g;
print length($s), "\n";
