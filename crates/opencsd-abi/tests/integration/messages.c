/* Prints a line, has the library print a message to standard output, and prints another line.
 * Declares what it calls: OpenCSD's headers need not be installed. */
#include <stdio.h>

extern int ocsd_def_errlog_init(int severity, int output);
extern int ocsd_def_errlog_config_output(int flags, const char *file);
extern void ocsd_def_errlog_msgout(const char *message);

int main(void)
{
    printf("before\n");
    ocsd_def_errlog_init(1, 1);
    ocsd_def_errlog_config_output(4, NULL);
    ocsd_def_errlog_msgout("message\n");
    printf("after\n");
    return 0;
}
