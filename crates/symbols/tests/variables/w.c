static int twice = 2;
int *other = &twice;
