// Work on text: search, split, turn round, numbers to text and back.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[20000];

static void turn(char *from, char *to) {
    for (; from < to; from++, to--) {
        char t = *from;
        *from = *to;
        *to = t;
    }
}

static int palindrome(const char *word) {
    for (const char *end = word + strlen(word) - 1; word < end; word++, end--)
        if (tolower(*word) != tolower(*end)) return 0;
    return 1;
}

int main(void) {
    char *at = text;
    for (int n = 0; n < 1200; n++) at += sprintf(at, "%d%c", n * n % 7919, n % 11 ? ' ' : '\n');
    int needles = 0;
    for (const char *found = text; (found = strstr(found, "77")); found++) needles++;
    char *copy = strdup(text), *state = NULL;
    int words = 0, same = 0;
    long sum = 0;
    for (char *word = strtok_r(copy, " \n", &state); word; word = strtok_r(NULL, " \n", &state)) {
        words++;
        sum += strtol(word, NULL, 10);
        same += palindrome(word);
        turn(word, word + strlen(word) - 1);
        sum -= atoi(word);
    }
    free(copy);
    // Digits turn on by their place, so often that each is itself again.
    for (int round = 0; round < 10; round++)
        for (char *c = text; *c; c++)
            if (*c >= '0' && *c <= '9') *c = '0' + (*c - '0' + (int)(c - text) % 7) % 10;
    int counts[256] = {0}, most = 0;
    for (const char *c = text; *c; c++)
        if (++counts[(unsigned char)*c] > counts[most]) most = (unsigned char)*c;
    printf("%d %d %d %ld %d\n", needles, words, same, sum, most);
    return 0;
}
