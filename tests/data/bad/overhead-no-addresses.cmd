overhead -o OUT IN
