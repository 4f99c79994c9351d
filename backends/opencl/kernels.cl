// Kernels of the OpenCL backend, OpenCL C 1.2. Tensors come as buffer and byte offset; a row is
// contiguous. One work-group has the work of one thread of a CPU or one warp of a GPU: a row of
// weights for a few tokens, a head, a row. Sums run in one fixed order, so that results depend
// neither on the number of tokens nor on the number of cores.
#pragma OPENCL FP_CONTRACT OFF

#define FLOATS(base, offset) ((global float*)((base) + (offset)))
#define INTS(base, offset) ((global const int*)((base) + (offset)))

float f16_at(global const uchar* p) { return vload_half(0, (global const half*)p); }

// ---- 32 weights, number `i` of a row, as two halves of 16

void read_f32(global const uchar* row, long i, float16* a, float16* b) {
  *a = vload16(2 * i, (global const float*)row);
  *b = vload16(2 * i + 1, (global const float*)row);
}
void read_f16(global const uchar* row, long i, float16* a, float16* b) {
  *a = vload_half16(2 * i, (global const half*)row);
  *b = vload_half16(2 * i + 1, (global const half*)row);
}
// d (f16), 32 codes of 8 bits
void read_q8_0(global const uchar* row, long i, float16* a, float16* b) {
  global const uchar* block = row + 34 * i;
  const float d = f16_at(block);
  *a = d * convert_float16(vload16(0, (global const char*)(block + 2)));
  *b = d * convert_float16(vload16(1, (global const char*)(block + 2)));
}
// d (f16), 16 bytes: low nibbles are the first half
void read_q4_0(global const uchar* row, long i, float16* a, float16* b) {
  global const uchar* block = row + 18 * i;
  const float d = f16_at(block);
  const uchar16 q = vload16(0, block + 2);
  *a = d * (convert_float16(q & (uchar16)15) - 8.0f);
  *b = d * (convert_float16(q >> (uchar16)4) - 8.0f);
}
// d, dmin (f16), 8 scales and 8 minima of 6 bits in 12 bytes, 128 bytes of nibbles: 32 bytes hold
// two runs of 32 weights
void read_q4_k(global const uchar* row, long i, float16* a, float16* b) {
  global const uchar* block = row + 144 * (i / 8);
  global const uchar* s = block + 4;
  const int j = (int)(i % 8);
  const int scale = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
  const int min_scale = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | (s[j] >> 6) << 4;
  const float d = f16_at(block) * (float)scale, m = f16_at(block + 2) * (float)min_scale;
  global const uchar* q = block + 16 + 32 * (j / 2);
  const uchar16 shift = (uchar16)(uchar)(4 * (j % 2));
  *a = d * convert_float16(vload16(0, q) >> shift & (uchar16)15) - m;
  *b = d * convert_float16(vload16(1, q) >> shift & (uchar16)15) - m;
}
// 128 bytes of low 4 bits, 64 bytes of high 2 bits, 16 scales (i8), d (f16); each half of 128
// weights has 64, 32 and 8 bytes of its own
void read_q6_k(global const uchar* row, long i, float16* a, float16* b) {
  global const uchar* block = row + 210 * (i / 8);
  const int side = (int)(i % 8) / 4, j = (int)(i % 4);
  global const uchar* low = block + 64 * side + 32 * (j % 2);
  global const uchar* high = block + 128 + 32 * side;
  global const char* scales = (global const char*)(block + 192) + 8 * side + 2 * j;
  const float d = f16_at(block + 208);
  const uchar16 ls = (uchar16)(uchar)(4 * (j / 2)), hs = (uchar16)(uchar)(2 * j);
  const uchar16 qa = (vload16(0, low) >> ls & (uchar16)15) |
                     (vload16(0, high) >> hs & (uchar16)3) << (uchar16)4;
  const uchar16 qb = (vload16(1, low) >> ls & (uchar16)15) |
                     (vload16(1, high) >> hs & (uchar16)3) << (uchar16)4;
  *a = d * (float)scales[0] * (convert_float16(qa) - 32.0f);
  *b = d * (float)scales[1] * (convert_float16(qb) - 32.0f);
}

float sum16(float16 v) {
  const float8 e = v.lo + v.hi;
  const float4 q = e.lo + e.hi;
  const float2 p = q.lo + q.hi;
  return p.x + p.y;
}

// y[t, n] = sum_k x[t, k] w[n, k] (+ bias[n]) (+ residual[t, n]): a group has LANES items, which take
// every LANES-th run of 32 weights of row n, for TOKENS tokens.
#define LANES 8
#define MATMUL(NAME, READ, TOKENS)                                                                \
  kernel __attribute__((reqd_work_group_size(LANES, 1, 1))) void NAME(                            \
      global const uchar* xb, ulong xo, ulong x_stride, global const uchar* wb, ulong wo,         \
      ulong w_stride, global const uchar* bb, ulong bo, int has_bias, global const uchar* rb,     \
      ulong ro, ulong r_stride, int has_residual, global uchar* yb, ulong yo, ulong y_stride,     \
      long n_runs, int n_tokens) {                                                                \
    local float parts[LANES * TOKENS];                                                            \
    const long n = get_group_id(0);                                                               \
    const int t0 = (int)get_group_id(1) * TOKENS, lane = (int)get_local_id(0);                    \
    const int count = min(TOKENS, n_tokens - t0);                                                 \
    global const uchar* row = wb + wo + n * w_stride;                                             \
    float16 sums[TOKENS];                                                                         \
    for (int t = 0; t < TOKENS; ++t) sums[t] = (float16)0;                                        \
    for (long i = lane; i < n_runs; i += LANES) {                                                 \
      float16 a, b;                                                                               \
      READ(row, i, &a, &b);                                                                       \
      for (int t = 0; t < count; ++t) {                                                           \
        global const float* x = FLOATS((global uchar*)xb, xo + (t0 + t) * x_stride);              \
        sums[t] = fma(b, vload16(2 * i + 1, x), fma(a, vload16(2 * i, x), sums[t]));              \
      }                                                                                           \
    }                                                                                             \
    for (int t = 0; t < TOKENS; ++t) parts[t * LANES + lane] = sum16(sums[t]);                    \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                 \
    for (int t = lane; t < count; t += LANES) {                                                   \
      float y = 0;                                                                                \
      for (int i = 0; i < LANES; ++i) y += parts[t * LANES + i];                                  \
      if (has_bias) y += FLOATS((global uchar*)bb, bo)[n];                                        \
      if (has_residual) y += FLOATS((global uchar*)rb, ro + (t0 + t) * r_stride)[n];              \
      FLOATS(yb, yo + (t0 + t) * y_stride)[n] = y;                                                \
    }                                                                                             \
  }

// y[t, :] = table[ids[t], :]: an item takes a run of 32.
#define GET_ROWS(NAME, READ)                                                                      \
  kernel void NAME(global const uchar* wb, ulong wo, ulong w_stride, long n_rows,                 \
                   global const uchar* ib, ulong io, global uchar* yb, ulong yo, ulong y_stride) {\
    const long i = get_global_id(0), t = get_global_id(1), id = INTS(ib, io)[t];                  \
    float16 a = (float16)NAN, b = (float16)NAN;                                                   \
    if (id >= 0 && id < n_rows) READ(wb + wo + id * w_stride, i, &a, &b);                         \
    global float* y = FLOATS(yb, yo + t * y_stride);                                              \
    vstore16(a, 2 * i, y);                                                                        \
    vstore16(b, 2 * i + 1, y);                                                                    \
  }

#define FORMAT_OF(NAME)                     \
  MATMUL(matmul_##NAME##_1, read_##NAME, 1) \
  MATMUL(matmul_##NAME##_8, read_##NAME, 8) \
  GET_ROWS(get_rows_##NAME, read_##NAME)

#ifdef WITH_FORMAT
#define FORMAT(NAME) FORMAT_OF(NAME)
FORMAT(WITH_FORMAT)
#else

// ---- elements

float silu(float x) { return x / (1.0f + exp(-x)); }

// `what`: 0 a + b, 1 a * b, 2 silu(a), 3 factor * a, 4 silu(a) * b, 5 a. b repeats after b_width
// columns if it is a vector.
kernel void elements(int what, global const uchar* ab, ulong ao, ulong a_stride,
                     global const uchar* bb, ulong bo, ulong b_stride, long b_width, float factor,
                     global uchar* yb, ulong yo, ulong y_stride) {
  const long c = get_global_id(0), r = get_global_id(1);
  const float a = FLOATS((global uchar*)ab, ao + r * a_stride)[c];
  float y = a;
  if (what == 2) y = silu(a);
  if (what == 3) y = factor * a;
  if (what < 2 || what == 4) {
    const float b = FLOATS((global uchar*)bb, bo + r * b_stride)[c % b_width];
    y = what == 0 ? a + b : what == 1 ? a * b : silu(a) * b;
  }
  FLOATS(yb, yo + r * y_stride)[c] = y;
}

// A group normalizes one row, or one head of it.
#define NORM_LANES 32
kernel __attribute__((reqd_work_group_size(NORM_LANES, 1, 1))) void rms_norm(
    global const uchar* xb, ulong xo, ulong x_stride, global const uchar* wb, ulong wo, int has_w,
    global uchar* yb, ulong yo, ulong y_stride, long width, float eps) {
  local float parts[NORM_LANES];
  const int lane = (int)get_local_id(0);
  const long begin = get_group_id(0) * width, r = get_group_id(1);
  global const float* x = FLOATS((global uchar*)xb, xo + r * x_stride) + begin;
  global float* y = FLOATS(yb, yo + r * y_stride) + begin;
  float sum = 0;
  for (long i = lane; i < width; i += NORM_LANES) sum = fma(x[i], x[i], sum);
  parts[lane] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  sum = 0;
  for (int i = 0; i < NORM_LANES; ++i) sum += parts[i];
  const float scale = 1.0f / sqrt(sum / (float)width + eps);
  for (long i = lane; i < width; i += NORM_LANES)
    y[i] = x[i] * scale * (has_w ? FLOATS((global uchar*)wb, wo)[i] : 1.0f);
}

// ---- positions

kernel void rope_angles(global const uchar* pb, ulong po, global const uchar* fb,
                        global const uchar* db, ulong d_offset, int has_divisors, float magnitude,
                        global uchar* yb, ulong yo, ulong y_stride) {
  const long i = get_global_id(0), t = get_global_id(1);
  float frequency = FLOATS((global uchar*)fb, 0)[i];
  if (has_divisors) frequency /= FLOATS((global uchar*)db, d_offset)[i];
  const float angle = (float)INTS(pb, po)[t] * frequency;
  global float* y = FLOATS(yb, yo + t * y_stride);
  y[2 * i] = magnitude * cos(angle);
  y[2 * i + 1] = magnitude * sin(angle);
}

// Item i < half turns pair i of a head; the others carry one element over each.
kernel void rope(global const uchar* xb, ulong xo, ulong x_stride, global const uchar* ab, ulong ao,
                 ulong a_stride, global uchar* yb, ulong yo, ulong y_stride, long width, long half_,
                 int adjacent) {
  const long i = get_global_id(0), h = get_global_id(1), t = get_global_id(2);
  global const float* x = FLOATS((global uchar*)xb, xo + t * x_stride) + h * width;
  global float* y = FLOATS(yb, yo + t * y_stride) + h * width;
  if (i >= half_) {
    y[i + half_] = x[i + half_];
    return;
  }
  global const float* angles = FLOATS((global uchar*)ab, ao + t * a_stride);
  const float c = angles[2 * i], s = angles[2 * i + 1];
  const long first = adjacent ? 2 * i : i, second = adjacent ? first + 1 : i + half_;
  const float a = x[first], b = x[second];
  y[first] = a * c - b * s;
  y[second] = a * s + b * c;
}

// ---- caches [B, G, 64, E]: element e of group g of cell s

long cell_at(long s, long g, long groups, long width) {
  return ((s / 64 * groups + g) * 64 + s % 64) * width;
}

kernel void cache_write(global const uchar* xb, ulong xo, ulong x_stride, global const uchar* cb,
                        ulong co, global uchar* yb, ulong yo, long width, int is_half) {
  const long e = get_global_id(0), g = get_global_id(1), t = get_global_id(2);
  const long cell = INTS(cb, co)[t];
  if (cell < 0) return;
  const float x = FLOATS((global uchar*)xb, xo + t * x_stride)[g * width + e];
  const long at = cell_at(cell, g, (long)get_global_size(1), width) + e;
  if (is_half) {
    vstore_half_rte(x, at, (global half*)(yb + yo));
  } else {
    FLOATS(yb, yo)[at] = x;
  }
}

float cached(global const uchar* cache, long at, int is_half) {
  return is_half ? vload_half(at, (global const half*)cache) : ((global const float*)cache)[at];
}

// A group computes one head of one token: block by block of the cache, scores first, then the
// softmax that goes along (its largest score so far, its sum), then the values. An item owns every
// ATTN_LANES-th element of the result.
#define ATTN_LANES 16
#define ATTN_OWN 16 /* elements per item: heads of up to 256 */
kernel __attribute__((reqd_work_group_size(ATTN_LANES, 1, 1))) void attention(
    global const uchar* qb, ulong qo, ulong q_stride, global const uchar* kb, ulong ko, int k_half,
    global const uchar* vb, ulong vo, int v_half, global const uchar* tb, ulong to,
    ulong t_stride, global const uchar* sb, ulong so, global const uchar* fb, ulong fo,
    global const uchar* lb, ulong lo, global uchar* yb, ulong yo, ulong y_stride, long k_width,
    long v_width, long groups, long per_group, float scale) {
  local float p[64];
  const int lane = (int)get_local_id(0);
  const long h = get_group_id(0), t = get_group_id(1), g = h / per_group;
  global const float* q = FLOATS((global uchar*)qb, qo + t * q_stride) + h * k_width;
  global const uchar* k = kb + ko;
  global const uchar* v = vb + vo;
  const long first = INTS(fb, fo)[t], last = INTS(lb, lo)[t];
  global const int* blocks = INTS(tb, to + INTS(sb, so)[t] * t_stride);
  float own[ATTN_OWN];
  for (int n = 0; n < ATTN_OWN; ++n) own[n] = 0;
  float largest = -INFINITY, sum = 0;
  for (long block = first / 64; block <= last / 64; ++block) {
    const long cells = (long)blocks[block] * 64;
    for (int i = lane; i < 64; i += ATTN_LANES) {
      const long s = block * 64 + i;
      float score = -INFINITY;
      if (s >= first && s <= last) {
        const long at = cell_at(cells + i, g, groups, k_width);
        score = 0;
        for (long e = 0; e < k_width; ++e) score = fma(q[e], cached(k, at + e, k_half), score);
        score *= scale;
      }
      p[i] = score;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    float new_largest = largest;
    for (int i = 0; i < 64; ++i) new_largest = fmax(new_largest, p[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = lane; i < 64; i += ATTN_LANES) p[i] = exp(p[i] - new_largest);
    barrier(CLK_LOCAL_MEM_FENCE);
    const float shrink = exp(largest - new_largest);
    sum *= shrink;
    for (int i = 0; i < 64; ++i) sum += p[i];
    const long begin = cell_at(cells, g, groups, v_width);
    const int begin_at = (int)max(first - block * 64, 0L), end_at = (int)min(last - block * 64, 63L);
    for (int n = 0; n * ATTN_LANES + lane < v_width; ++n) {
      float y = own[n] * shrink;
      for (int i = begin_at; i <= end_at; ++i)
        y = fma(p[i], cached(v, begin + i * v_width + n * ATTN_LANES + lane, v_half), y);
      own[n] = y;
    }
    largest = new_largest;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  global float* y = FLOATS(yb, yo + t * y_stride) + h * v_width;
  for (int n = 0; n * ATTN_LANES + lane < v_width; ++n) y[n * ATTN_LANES + lane] = own[n] / sum;
}
#endif
