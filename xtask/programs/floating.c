// Floating point: a step of planets, a power series, and roots by Newton's method.
#include <math.h>
#include <stdio.h>

struct body {
    double x, y, vx, vy, mass;
};

static struct body bodies[4] = {
    {0, 0, 0, 0, 1000}, {10, 0, 0, 10, 1}, {0, 20, -7, 0, 2}, {-30, 0, 0, -5.7, 3}};

static void advance(double dt) {
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            if (i == j) continue;
            double dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y;
            double d2 = dx * dx + dy * dy, scale = bodies[j].mass / (d2 * sqrt(d2)) * dt;
            bodies[i].vx += dx * scale;
            bodies[i].vy += dy * scale;
        }
    for (int i = 0; i < 4; i++) {
        bodies[i].x += bodies[i].vx * dt;
        bodies[i].y += bodies[i].vy * dt;
    }
}

static double series(double x) {
    double term = 1, sum = 1;
    for (int n = 1; fabs(term) > 1e-12; n++) sum += term *= x / n;
    return sum;
}

static float root(float a) {
    float x = a;
    for (int k = 0; k < 20; k++) x = 0.5f * (x + a / x);
    return x;
}

int main(void) {
    for (int n = 0; n < 2500; n++) advance(0.001);
    double e = 0;
    for (int n = 0; n < 2000; n++) e += series(n / 500.0);
    float r = 0;
    for (int n = 1; n < 3000; n++) r += root(n);
    printf("%.6f %.6f %.4f %.3f\n", bodies[1].x, bodies[1].y, e, r);
    return 0;
}
