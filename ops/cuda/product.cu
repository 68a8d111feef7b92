#include <algorithm>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include "ops/cuda/launch.cuh"
#include "ops/cuda/layout.cuh"
#include "ops/cuda/product.h"
#include "runtime/device/cuda_blas.h"
#include "runtime/device/cuda_status.h"

namespace plica::cuda {
namespace {

constexpr size_t kMostWorkspaceBytes = size_t{32} << 20;
constexpr size_t kWorkspaceAlignment = 256;  // what cuBLASLt asks for
constexpr int kMostChoices = 5;              // of the heuristic's list that are looked at

// A matrix (rows, columns) by its two steps; false where neither axis is contiguous or rows overlap.
bool view_matrix(int64_t rows, int64_t columns, int64_t row_step, int64_t column_step, MatrixView& view) {
  if (columns == 1 || column_step == 1) {
    view.transposed = false;
    view.leading = rows == 1 ? columns : row_step;
    if (view.leading >= columns && (columns == 1 || column_step == 1)) return true;
  }
  if (rows == 1 || row_step == 1) {
    view.transposed = true;
    view.leading = columns == 1 ? rows : column_step;
    return view.leading >= rows;
  }
  return false;
}

cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::kF64: return CUDA_R_64F;
    case DType::kF16: return CUDA_R_16F;
    case DType::kBF16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

cublasLtEpilogue_t epilogue_of(const ProductEpilogue& epilogue) {
  switch (epilogue.activation) {
    case ops::Activation::kRelu: return epilogue.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case ops::Activation::kGeluTanh: return epilogue.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
    default: return epilogue.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

}  // namespace

const char* make_product(const Case& c, bool with_residual, Product& product) {
  if (const char* why = over_rank(c)) return why;
  const TensorType &a = *c.in[0].type, &b = *c.in[1].type, &y = *c.out[0].type;
  const size_t rank = y.shape.size(), row = rank - 2, column = rank - 1;
  AxisStrides of_a = strides_in(a, rank), of_b = strides_in(b, rank), of_y = strides_in(y, rank), of_c{};
  if (with_residual) of_c = strides_in(*c.in[4].type, rank);
  product.m = y.shape[row];
  product.n = y.shape[column];
  product.k = a.shape.back();
  if (product.m == 0 || product.n == 0 || product.k == 0 || num_elements(y.shape) == 0) return "a size is 0";
  if (product.n > 1 && of_y[column] != 1) return "columns of y are not contiguous";
  if (with_residual && product.n > 1 && of_c[column] != 1) return "columns of the residual are not contiguous";

  // Axes in front, with the rows as the last of them: rows of batches that share b merge into one matrix.
  const int64_t b_row = of_b[row], b_column = of_b[column];
  of_b[row] = 0;
  const auto rows = make_layout<4>(std::span<const int64_t>(y.shape).first(row + 1), {of_a, of_b, of_y, of_c});
  int last = rows.rank - 1;
  product.m = 1;
  int64_t steps[4] = {};
  const bool has_rows =
      last >= 0 && rows.stride[1][last] == 0 && (y.shape[row] > 1 || rows.stride[0][last] >= a.shape.back());
  if (has_rows) {
    product.m = rows.size[last];
    for (int i = 0; i < 4; ++i) steps[i] = rows.stride[i][last];
    --last;
  }
  const bool readable = view_matrix(product.m, product.k, steps[0], of_a[column], product.a) &&
                        view_matrix(product.k, product.n, b_row, b_column, product.b) &&
                        view_matrix(product.m, product.n, steps[2], 1, product.y) &&
                        (!with_residual || view_matrix(product.m, product.n, steps[3], 1, product.c));
  if (!readable) return "a matrix has no contiguous axis, or overlapping rows";
  if (product.y.transposed || product.c.transposed) return "rows of y are not contiguous";
  MatrixView* views[] = {&product.a, &product.b, &product.y, &product.c};
  if (last >= 0) {
    product.batch = rows.size[last];
    for (int i = 0; i < 4; ++i) views[i]->batch_stride = rows.stride[i][last];
    --last;
  }
  int64_t launches = 1;
  for (int axis = 0; axis <= last; ++axis) {
    launches *= rows.size[axis];
    product.loop_size[static_cast<size_t>(axis)] = rows.size[axis];
    for (size_t i = 0; i < 4; ++i) product.loop_stride[i][static_cast<size_t>(axis)] = rows.stride[i][axis];
  }
  product.num_loop_axes = last + 1;
  return launches > 64 ? "batches are strided in more than one way" : nullptr;
}

struct ReadyProduct::Parts {
  const CublasLt* lt = nullptr;
  Product product;
  Options options;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, y = nullptr, c = nullptr;
  cublasLtMatmulHeuristicResult_t choice{};

  ~Parts() {
    for (cublasLtMatrixLayout_t layout : {a, b, y, c})
      if (layout != nullptr) lt->layout_destroy(layout);
    if (desc != nullptr) lt->desc_destroy(desc);
  }

  bool is_f64() const { return options.dtype == DType::kF64; }

  // cuBLASLt counts columns first, so it is asked for y^T = b^T a^T, all of them as they lie in memory.
  Status describe() {
    const Product& p = product;
    const cublasComputeType_t compute = is_f64()       ? CUBLAS_COMPUTE_64F
                                        : options.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                       : CUBLAS_COMPUTE_32F;
    PLICA_CHECK(
        lt->status(lt->desc_create(&desc, compute, is_f64() ? CUDA_R_64F : CUDA_R_32F), "describing a product"));
    const cublasOperation_t of_b = p.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t of_a = p.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t epilogue = epilogue_of(options.epilogue);
    PLICA_CHECK(set(CUBLASLT_MATMUL_DESC_TRANSA, of_b));
    PLICA_CHECK(set(CUBLASLT_MATMUL_DESC_TRANSB, of_a));
    PLICA_CHECK(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
    PLICA_CHECK(layout(b, p.b, p.k, p.n));
    PLICA_CHECK(layout(a, p.a, p.m, p.k));
    PLICA_CHECK(layout(y, p.y, p.m, p.n));
    return layout(c, options.epilogue.residual ? p.c : p.y, p.m, p.n);
  }

  template <class T>
  Status set(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
    return lt->status(lt->desc_set(desc, attribute, &value, sizeof value), "describing a product");
  }

  // The description for one run: threads share the parts, the bias differs.
  cublasLtMatmulDescOpaque_t with_bias(const void* bias) const {
    cublasLtMatmulDescOpaque_t own = *desc;
    if (options.epilogue.bias) lt->desc_set(&own, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    return own;
  }

  Status layout(cublasLtMatrixLayout_t& to, const MatrixView& view, int64_t rows, int64_t columns) {
    const auto inner = static_cast<uint64_t>(view.transposed ? rows : columns);
    const auto outer = static_cast<uint64_t>(view.transposed ? columns : rows);
    PLICA_CHECK(lt->status(lt->layout_create(&to, data_type(options.dtype), inner, outer, view.leading),
                           "describing a matrix"));
    const auto batch = static_cast<int32_t>(product.batch);
    PLICA_CHECK(
        lt->status(lt->layout_set(to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch), "describing a batch"));
    return lt->status(
        lt->layout_set(to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &view.batch_stride, sizeof view.batch_stride),
        "describing a batch");
  }

  // What the choice depends on, as bytes.
  std::string key() const {
    std::string text;
    const auto put = [&](int64_t value) { text.append(reinterpret_cast<const char*>(&value), sizeof value); };
    const Product& p = product;
    for (int64_t value : {p.m, p.n, p.k, p.batch}) put(value);
    for (const MatrixView* view : {&p.a, &p.b, &p.y, &p.c}) {
      put(view->transposed);
      put(view->leading);
      put(view->batch_stride);
    }
    for (int64_t alignment : options.alignment_bytes) put(alignment);
    put(static_cast<int64_t>(options.dtype));
    put(options.tf32);
    put(options.epilogue.residual);
    put(epilogue_of(options.epilogue));
    put(options.ordinal);
    return text;
  }

  Status choose() {
    static std::mutex mutex;
    static std::map<std::string, cublasLtMatmulHeuristicResult_t> chosen;
    const std::string name = key();
    const std::lock_guard lock(mutex);
    if (const auto found = chosen.find(name); found != chosen.end()) return choice = found->second, Status{};
    cublasLtMatmulPreference_t preference = nullptr;
    PLICA_CHECK(lt->status(lt->preference_create(&preference), "choosing an algorithm"));
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      lt->preference_set(preference, attribute, &value, sizeof value);
    };
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kMostWorkspaceBytes);
    const auto bytes = [&](size_t i) { return static_cast<uint32_t>(options.alignment_bytes[i]); };
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, bytes(1));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, bytes(0));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, bytes(options.epilogue.residual ? 3 : 2));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, bytes(2));
    int num_found = 0;
    cublasLtMatmulHeuristicResult_t found[kMostChoices];
    const cublasStatus_t status =
        lt->heuristic(lt->handle, desc, b, a, c, y, preference, kMostChoices, found, &num_found);
    lt->preference_destroy(preference);
    PLICA_CHECK(lt->status(status, "choosing an algorithm for a product"));
    if (num_found == 0) return Error(Code::kUnsupported, "cuBLASLt has no algorithm for a product");
    choice = preferred(std::span(found, static_cast<size_t>(num_found)));
    chosen.emplace(name, choice);
    return {};
  }

  int32_t config(const cublasLtMatmulHeuristicResult_t& found, cublasLtMatmulAlgoConfigAttributes_t attribute) const {
    int32_t value = 0;
    size_t written = 0;
    lt->algo_config(&found.algo, attribute, &value, sizeof value, &written);
    return value;
  }

  // The first of the heuristic's list, but for what it is seen to misjudge on an H200 (times in us, cuBLASLt 13.1):
  // - Kernels of the families 20 and 21 read a residual badly, but where parts of K are added up behind them: 65536x128x128
  //   takes 83 in tf32 where others take 33.
  // - Products that hand out parts of K from a queue clear its counters first, by a node of its own in a graph: another
  //   one among the next two is as fast.
  // - With many rows of 16 bits, 128x128 tiles are the fastest wherever they are offered: 65536x128x128 11 against 17,
  //   8192x1280x1280 with a residual 46 against 65.
  const cublasLtMatmulHeuristicResult_t& preferred(std::span<const cublasLtMatmulHeuristicResult_t> found) const {
    constexpr int64_t kManyRows = 4096;
    const auto first = [&](size_t among, auto&& fits) {
      const auto end = found.begin() + static_cast<std::ptrdiff_t>(std::min(among, found.size()));
      const auto it = std::find_if(found.begin(), end, fits);
      return it == end ? nullptr : &*it;
    };
    const cublasLtMatmulHeuristicResult_t* better = nullptr;
    if (size_of(options.dtype) == 2 && product.m >= kManyRows)
      better = first(kMostChoices, [&](const auto& one) {
        return config(one, CUBLASLT_ALGO_CONFIG_TILE_ID) == CUBLASLT_MATMUL_TILE_128x128;
      });
    if (options.dtype != DType::kF32) return better != nullptr ? *better : found[0];
    const auto reads_residual_well = [&](const auto& one) {
      const int32_t family = config(one, CUBLASLT_ALGO_CONFIG_ID);
      return !options.epilogue.residual || (family != 20 && family != 21) ||
             config(one, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) > 1;
    };
    better = first(3, [&](const auto& one) {
      return reads_residual_well(one) && config(one, CUBLASLT_ALGO_CONFIG_SPLITK_NUM) >= 0;
    });
    if (better == nullptr) better = first(kMostChoices, reads_residual_well);
    return better != nullptr ? *better : found[0];
  }
};

ReadyProduct::ReadyProduct(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ReadyProduct::~ReadyProduct() = default;

Result<std::shared_ptr<const ReadyProduct>> ReadyProduct::make(const Product& product, const Options& options) {
  auto parts = std::make_unique<Parts>();
  PLICA_TRY(parts->lt, cublas_lt(options.ordinal));
  parts->product = product;
  parts->options = options;
  PLICA_CHECK(parts->describe());
  PLICA_CHECK(parts->choose());
  return std::shared_ptr<const ReadyProduct>(new ReadyProduct(std::move(parts)));
}

size_t ReadyProduct::workspace_bytes() const {
  const size_t bytes = parts_->choice.workspaceSize;
  return bytes == 0 ? 0 : bytes + kWorkspaceAlignment;
}

void ReadyProduct::run(const Pointers& pointers, void* stream) const {
  const Parts& p = *parts_;
  const auto bytes = static_cast<int64_t>(size_of(p.options.dtype));
  const float alpha = static_cast<float>(p.options.alpha), beta = p.options.epilogue.residual ? 1.0f : 0.0f;
  const double wide_alpha = p.options.alpha, wide_beta = beta;
  const void* scale = p.is_f64() ? static_cast<const void*>(&wide_alpha) : &alpha;
  const void* keep = p.is_f64() ? static_cast<const void*>(&wide_beta) : &beta;
  cublasLtMatmulDescOpaque_t desc = p.with_bias(pointers.bias);
  void* workspace = nullptr;
  if (p.choice.workspaceSize > 0)
    workspace = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(pointers.workspace) + kWorkspaceAlignment - 1) /
                                        kWorkspaceAlignment * kWorkspaceAlignment);
  std::array<int64_t, 8> index{};
  while (true) {
    int64_t at[4] = {};
    for (size_t i = 0; i < 4; ++i)
      for (size_t axis = 0; axis < static_cast<size_t>(p.product.num_loop_axes); ++axis)
        at[i] += index[axis] * p.product.loop_stride[i][axis] * bytes;
    auto* y = static_cast<std::byte*>(pointers.y) + at[2];
    const auto* residual = p.options.epilogue.residual ? static_cast<const std::byte*>(pointers.residual) + at[3] : y;
    const cublasStatus_t status =
        p.lt->matmul(p.lt->handle, &desc, scale, static_cast<const std::byte*>(pointers.b) + at[1], p.b,
                     static_cast<const std::byte*>(pointers.a) + at[0], p.a, keep, residual, p.c, y, p.y,
                     &p.choice.algo, workspace, p.choice.workspaceSize, static_cast<cudaStream_t>(stream));
    if (status != CUBLAS_STATUS_SUCCESS) note_launch_error(p.lt->status_string(status));
    int axis = p.product.num_loop_axes - 1;
    for (; axis >= 0; --axis) {
      if (++index[static_cast<size_t>(axis)] < p.product.loop_size[static_cast<size_t>(axis)]) break;
      index[static_cast<size_t>(axis)] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace plica::cuda
