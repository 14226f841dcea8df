extern "C" {
#include "start.h"
void program(void);
}

// A balanced tree without a heap, and what is shown of it by a template.

struct Node {
  int key = 0;
  int height = 1;
  Node *left = nullptr;
  Node *right = nullptr;
};

struct Pool {
  Node nodes[32];
  int used = 0;
  NOINLINE Node *take(int key) {
    if (used >= 32 || key < 0)
      return nullptr;
    Node *own = &nodes[used++];
    own->key = key;
    return own;
  }
};

NOINLINE static int height(const Node *own) {
  return own ? own->height : 0;
}

NOINLINE static void measure(Node *own) {
  int left = height(own->left), right = height(own->right);
  own->height = 1 + (left > right ? left : right);
}

template <Node *Node::*A, Node *Node::*B> NOINLINE static Node *rotate(Node *own) {
  Node *top = own->*A;
  own->*A = top->*B;
  top->*B = own;
  measure(own);
  measure(top);
  return top;
}

NOINLINE static Node *balanced(Node *own) {
  measure(own);
  int lean = height(own->left) - height(own->right);
  if (lean > 1) {
    if (height(own->left->left) < height(own->left->right))
      own->left = rotate<&Node::right, &Node::left>(own->left);
    return rotate<&Node::left, &Node::right>(own);
  }
  if (lean < -1) {
    if (height(own->right->right) < height(own->right->left))
      own->right = rotate<&Node::left, &Node::right>(own->right);
    return rotate<&Node::right, &Node::left>(own);
  }
  return own;
}

NOINLINE static Node *add(Pool &pool, Node *own, int key) {
  if (!own)
    return pool.take(key);
  if (key == own->key)
    return own;
  Node *&side = key < own->key ? own->left : own->right;
  side = add(pool, side, key);
  return balanced(own);
}

template <typename Wanted> NOINLINE static int count(const Node *own, const Wanted &wanted) {
  if (!own)
    return 0;
  int below = count(own->left, wanted) + count(own->right, wanted);
  if (wanted(own->key) && (own->left || own->right))
    return below + 1;
  return below;
}

NOINLINE static bool has(const Node *own, int key) {
  while (own && own->key != key)
    own = key < own->key ? own->left : own->right;
  return own != nullptr;
}

static Pool pool;

void program(void) {
  Node *root = nullptr;
  static const int keys[] = {8, 4, 2, 1, 9, 12, 10, 11, 6, 7, 5, 4, 30, 20, 25, 3};
  for (int key : keys)
    root = add(pool, root, key);
  int total = root ? root->height : 0;
  for (int n = 0; n < 14; n++) {
    total += has(root, n) && n != 6;
    total += count(root, [n](int key) { return key > n || key == 2; });
  }
  if (total > 5000 && !root)
    total = 0;
  sink = static_cast<unsigned>(total);
}
