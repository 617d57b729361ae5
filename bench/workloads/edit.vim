" SPDX-License-Identifier: BSD-2-Clause
" Substitute, sort and join many lines.
call setline(1, map(range(1, 20000), '"line " .. v:val .. " of many"'))
%s/\d\+/<&>/g
sort! n
g/7>/normal! Jx
call writefile(getline(1, 200), 'vim.out')
qa!
