// A search tree with random balance: inserts, finds, deletes, and calls through pointers.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
    uint32_t key, priority;
    struct node *left, *right;
};

static uint32_t state = 99;

static uint32_t next(void) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static struct node *turn_right(struct node *n) {
    struct node *l = n->left;
    n->left = l->right;
    l->right = n;
    return l;
}

static struct node *turn_left(struct node *n) {
    struct node *r = n->right;
    n->right = r->left;
    r->left = n;
    return r;
}

static struct node *insert(struct node *n, uint32_t key) {
    if (!n) {
        n = calloc(1, sizeof *n);
        n->key = key;
        n->priority = next();
        return n;
    }
    if (key < n->key) {
        n->left = insert(n->left, key);
        if (n->left->priority > n->priority) n = turn_right(n);
    } else if (key > n->key) {
        n->right = insert(n->right, key);
        if (n->right->priority > n->priority) n = turn_left(n);
    }
    return n;
}

static struct node *erase(struct node *n, uint32_t key) {
    if (!n) return n;
    if (key < n->key) {
        n->left = erase(n->left, key);
    } else if (key > n->key) {
        n->right = erase(n->right, key);
    } else if (!n->left || !n->right) {
        struct node *rest = n->left ? n->left : n->right;
        free(n);
        return rest;
    } else if (n->left->priority > n->right->priority) {
        n = turn_right(n);
        n->right = erase(n->right, key);
    } else {
        n = turn_left(n);
        n->left = erase(n->left, key);
    }
    return n;
}

static void add(struct node *n, uint64_t *sum) { *sum += n->key; }
static void mix(struct node *n, uint64_t *sum) { *sum = *sum * 31 + n->key; }

static void walk(struct node *n, void (*visit)(struct node *, uint64_t *), uint64_t *sum) {
    if (!n) return;
    walk(n->left, visit, sum);
    visit(n, sum);
    walk(n->right, visit, sum);
}

int main(void) {
    struct node *root = NULL;
    for (int i = 0; i < 2500; i++) root = insert(root, next() % 10000);
    for (int i = 0; i < 1500; i++) root = erase(root, next() % 10000);
    uint64_t sum = 0, mixed = 0;
    for (int i = 0; i < 4; i++) {
        walk(root, add, &sum);
        walk(root, mix, &mixed);
    }
    printf("%llu %llx\n", (unsigned long long)sum, (unsigned long long)mixed);
    return 0;
}
