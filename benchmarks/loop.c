/* The six metrics as loops over one row at a time, spans sorted by (start, end): what a compiler makes of the
 * definitions. Sums are kept per column, as the core's micro statistics. */
#include <stdint.h>
#include <stdlib.h>

typedef int64_t i64;

static i64 lower(i64 a, i64 b) { return a < b ? a : b; }
static i64 upper(i64 a, i64 b) { return a > b ? a : b; }

static i64 shared(const i64 *g, const i64 *p) {
    i64 n = lower(g[1], p[1]) - upper(g[0], p[0]);
    return n > 0 ? n : 0;
}

static i64 merged(const i64 *spans, i64 n, i64 *out) {
    i64 m = 0;
    for (i64 i = 0; i < n; i++) {
        if (m && spans[2 * i] <= out[2 * m - 1]) {
            out[2 * m - 1] = upper(out[2 * m - 1], spans[2 * i + 1]);
        } else {
            out[2 * m] = spans[2 * i];
            out[2 * m + 1] = spans[2 * i + 1];
            m++;
        }
    }
    return m;
}

static i64 length(const i64 *spans, i64 n) {
    i64 total = 0;
    for (i64 i = 0; i < n; i++) total += spans[2 * i + 1] - spans[2 * i];
    return total;
}

static i64 intersection(const i64 *a, i64 n, const i64 *b, i64 m) {
    i64 i = 0, j = 0, total = 0;
    while (i < n && j < m) {
        total += shared(a + 2 * i, b + 2 * j);
        if (a[2 * i + 1] < b[2 * j + 1]) i++; else j++;
    }
    return total;
}

static void share(const i64 *lead, i64 n, const i64 *other, i64 m, char *credit, char *credit_other,
                  double threshold, double threshold_other) {
    for (i64 i = 0; i < n; i++) {
        if (credit[i]) continue;
        i64 degree = 0, free_ones = 0, last = 0;
        double total = 0;
        for (i64 j = 0; j < m; j++) {
            i64 both = shared(lead + 2 * i, other + 2 * j);
            if (!both) continue;
            degree++;
            if (credit_other[j] || (double)both / (other[2 * j + 1] - other[2 * j]) < threshold_other) continue;
            free_ones++;
            last = j;
            total += (double)both / (lead[2 * i + 1] - lead[2 * i]);
        }
        if (degree < 2 || !free_ones || total < threshold) continue;
        credit[i] = free_ones == 1 ? 1 : 2;
        if (free_ones == 1) {
            credit_other[last] = 1;
            continue;
        }
        for (i64 j = 0; j < m; j++) {
            i64 both = shared(lead + 2 * i, other + 2 * j);
            if (both && !credit_other[j] && (double)both / (other[2 * j + 1] - other[2 * j]) >= threshold_other)
                credit_other[j] = 2;
        }
    }
}

/* sums: exact 3, iou 2, character 3, deteval 6, cleval 4, coverage 4 */
void score(i64 rows, const i64 *ro, const i64 *r, const i64 *po, const i64 *p, i64 widest, i64 *sums) {
    i64 *ru = malloc(16 * widest + 16), *pu = malloc(16 * widest + 16), *kept = malloc(16 * widest + 16);
    char *rc = malloc(widest + 1), *pc = malloc(widest + 1);
    i64 *rd = malloc(8 * widest + 8), *pd = malloc(8 * widest + 8);
    for (i64 row = 0; row < rows; row++) {
        const i64 *g = r + 2 * ro[row], *q = p + 2 * po[row];
        i64 n = ro[row + 1] - ro[row], m = po[row + 1] - po[row];
        for (i64 j = 0; j < m; j++) {
            int found = 0;
            if (j && q[2 * j] == q[2 * j - 2] && q[2 * j + 1] == q[2 * j - 1]) continue;
            for (i64 i = 0; i < n; i++) found |= g[2 * i] == q[2 * j] && g[2 * i + 1] == q[2 * j + 1];
            sums[0] += found;
        }
        sums[1] += m;
        sums[2] += n;
        i64 rn = merged(g, n, ru), pn = merged(q, m, pu);
        i64 both = intersection(ru, rn, pu, pn), rl = length(ru, rn), pl = length(pu, pn);
        sums[3] += both;
        sums[4] += rl + pl - both;
        sums[5] += both;
        sums[6] += pl;
        sums[7] += rl;
        for (i64 i = 0; i < n; i++) rc[i] = 0;
        for (i64 j = 0; j < m; j++) pc[j] = 0;
        for (i64 i = 0; i < n; i++) {
            rd[i] = 0;
            for (i64 j = 0; j < m; j++) rd[i] += shared(g + 2 * i, q + 2 * j) > 0;
        }
        i64 k = 0, surplus_p = 0, surplus_r = 0;
        for (i64 j = 0; j < m; j++) {
            i64 degree = 0, partner = 0;
            double area = 0;
            for (i64 i = 0; i < n; i++) {
                i64 s = shared(g + 2 * i, q + 2 * j);
                if (!s) continue;
                degree++;
                partner = i;
                area += (double)s / (q[2 * j + 1] - q[2 * j]);
            }
            if (degree == 1 && rd[partner] == 1) {
                i64 s = shared(g + 2 * partner, q + 2 * j);
                if ((double)s / (g[2 * partner + 1] - g[2 * partner]) >= 0.8 &&
                    (double)s / (q[2 * j + 1] - q[2 * j]) >= 0.4)
                    rc[partner] = pc[j] = 1;
            }
            pd[j] = area >= 0.3 ? degree : 0;
            if (area >= 0.3) {
                kept[2 * k] = q[2 * j];
                kept[2 * k + 1] = q[2 * j + 1];
                k++;
                if (degree > 1) surplus_p += degree - 1;
            }
        }
        for (i64 i = 0; i < n; i++) {
            i64 degree = 0;
            for (i64 j = 0; j < m; j++) degree += pd[j] && shared(g + 2 * i, q + 2 * j) > 0;
            if (degree > 1) surplus_r += degree - 1;
        }
        share(g, n, q, m, rc, pc, 0.8, 0.4);
        share(q, m, g, n, pc, rc, 0.4, 0.8);
        for (i64 j = 0; j < m; j++) { sums[8] += pc[j] == 1; sums[9] += pc[j] == 2; }
        sums[10] += m;
        for (i64 i = 0; i < n; i++) { sums[11] += rc[i] == 1; sums[12] += rc[i] == 2; }
        sums[13] += n;
        i64 kn = merged(kept, k, pu);
        i64 c = intersection(ru, rn, pu, kn);
        sums[14] += upper(0, c - surplus_p);
        sums[15] += length(q, m);
        sums[16] += upper(0, c - surplus_r);
        sums[17] += length(g, n);
        for (i64 j = 0; j < m; j++) {
            int inside = 0;
            for (i64 i = 0; i < n; i++) inside |= g[2 * i] <= q[2 * j] && q[2 * j + 1] <= g[2 * i + 1];
            sums[18] += inside;
        }
        sums[19] += m;
        for (i64 i = 0; i < n; i++) {
            int hit = 0;
            for (i64 j = 0; j < m; j++) hit |= g[2 * i] <= q[2 * j] && q[2 * j + 1] <= g[2 * i + 1];
            sums[20] += hit;
        }
        sums[21] += n;
    }
    free(ru); free(pu); free(kept); free(rc); free(pc); free(rd); free(pd);
}
