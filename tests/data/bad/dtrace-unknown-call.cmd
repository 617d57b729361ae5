log2trace -o OUT IN
