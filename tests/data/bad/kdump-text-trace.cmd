kdump2trace -o OUT IN
