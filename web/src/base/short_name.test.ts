import assert from "node:assert/strict";
import { test } from "node:test";
import { shortName, shortNames } from "./short_name.ts";

const eigen = (op: string, to = "Eigen::half") =>
  `void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<Eigen::TensorAssignOp<Eigen::TensorMap<Eigen::Tensor<${to}, 1, 1, int>, 16, Eigen::MakePointer>, ${op} const> const, Eigen::GpuDevice>, int>(Eigen::TensorEvaluator<x>, int)`;
const map = (type: string) =>
  `Eigen::TensorMap<Eigen::Tensor<${type} const, 1, 1, int>, 16, Eigen::MakePointer> const>`;

test("Eigen's kernels are called by their operation", () => {
  const product = `Eigen::TensorCwiseBinaryOp<Eigen::internal::scalar_product_op<Eigen::half, Eigen::half>, ${map("Eigen::half")}`;
  assert.equal(shortName(eigen(product)), "product<half>");
  const compare = `Eigen::TensorCwiseUnaryOp<Eigen::internal::scalar_right<bool, Eigen::half, Eigen::internal::greater_equal<Eigen::half>, false>, ${map("Eigen::half")}`;
  assert.equal(shortName(eigen(compare, "bool")), "greater_equal<half>");
  assert.equal(
    shortName(eigen(`Eigen::TensorConversionOp<Eigen::half, ${map("float")}`)),
    "convert<float→half>",
  );
  assert.equal(
    shortName(
      eigen(`Eigen::TensorBroadcastingOp<Eigen::array<int, 1ul> const, ${map("Eigen::half")}`),
    ),
    "broadcast<half>",
  );
});

test("PyTorch's elementwise kernels are called by their functor", () => {
  assert.equal(
    shortName(
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    ),
    "add<float>",
  );
  assert.equal(
    shortName(
      "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>(int)",
    ),
    "direct_copy",
  );
});

test("other C++ names lose return type, namespaces and parameters", () => {
  assert.equal(
    shortName(
      "void tensorflow::functor::FillPhiloxRandomKernelLaunch<tensorflow::random::UniformDistribution<tensorflow::random::PhiloxRandom, Eigen::half> >(unsigned long long const*, int)",
    ),
    "FillPhiloxRandomKernelLaunch<UniformDistribution>",
  );
  assert.equal(
    shortName("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
  );
  assert.equal(
    shortName(
      "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8>(cutlass::Params)",
    ),
    "cutlass_80_tensorop_s16816gemm_bf16_128x128_32x5_nn_align8",
  );
});

test("AMD's names lose their settings", () => {
  assert.equal(
    shortName("Cijk_Ailk_Bljk_BBS_BH_MT256x112x64_MI16x16x16x1_SN_1LDSB0_APM1_ABV0"),
    "Cijk_Ailk_Bljk_BBS_BH_MT256x112x64",
  );
  assert.equal(shortName("gemm_fusion_dot_general_1.kd"), "gemm_fusion_dot_general_1");
});

test("names that are not C++ stay as they are", () => {
  for (const name of [
    "jit(step)/transpose(jvp())/transpose",
    "IteratorGetNext",
    "broadcast_add_fusion.2",
    "train step (with a remark in brackets) and more",
    "a<b",
    "",
  ]) {
    assert.equal(shortName(name), name);
  }
});

test("short names still tell rows apart, and hostile ones end in time", () => {
  const twice = [eigen("Eigen::TensorBroadcastingOp<1>"), eigen("Eigen::TensorBroadcastingOp<2>")];
  assert.deepEqual(shortNames(twice), ["broadcast<half>", "broadcast<half> (2)"]);
  const hostile = `void a::b<${"<".repeat(5000)}${"x::".repeat(5000)}`;
  assert.ok(shortName(hostile).length <= 64);
});
