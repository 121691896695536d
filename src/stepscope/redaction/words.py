"""Words that no redaction replaces (python -m generate)."""

from __future__ import annotations

from typing import Final

_WORDS: Final = """
abs abseil absl absolute abstract abstractify ac accept access accessed accessor accum accumulate
achieved acos acosh acquire act action activation active activity ad ada adadelta adafactor
adagrad adam adamw adaptive add addbias addbmm addcdiv addcmul added addmm addmv addr address
addtensor adjust advanced affine after afz agent agents ailk al algobw alias aliases align alik
alike all allgather alloc allocate allocated allocation allocator allreduce alltoall alone alpha
alu always amax amd amin amount amp ampere an analysis analyzer and ann annotated annotation
annotations anonymous another any aot apache api apply approximate arange arch archive are arg
argmax argmin args argument arguments arithmetic array arraylike arraypad arrayprint arrays
arraysetops arrayterator arrow as asarray ascii asin asinh asked assert assign assignaddvariableop
astype async asynchronous asyncio at atan atanh aten ato atomic att attention attn attribute
attributes attrs audio auto autocast autograd autograph autotun available aval average avg avgpool
avx await awaiting axes axis backend backends backprop backward baddbmm bag balanced ball band
bandwidth banks barrier base basearray baseline bat batch batchdecode batched batches batching
batchmatmul batchmatmulv batchnorm batchprefill bb bbs bcall bce bcopy bdot be before began begin
begun bench bernoulli beside bessel beta between beyond bf bfc bfloat bfnrt bh bias biasadd
biasnhwc bicubic big bilinear bin binary binaryop bincount bind binom binomial bit bitcast
bitmatrix bitonic bits bitwise bjit bjlk blackwell blas bljk block blocked blocks bmm bn bname
bnorm board body bool boolean boosted both bound bpad bprop bqqqiqqii brain branch breakdown brecv
bridge broadcast broadcasting broken bs bscalar bsend bucketize buffer bufferseq build builder
building builtins bulk busy but bw bwd by byte bytecode bytes bzip cache calculator call callable
callback callbacks called caller calls cancellation candidate cannot canonicalize cap capability
capture captured capturing case cast cat catarray categorical categories category cauchy causal
cause cbid cbrt cc ccl ccp cdf cdist ceil cell celu certain cga chain change changed changes
channel char charged check checker checkify checknumerics checkpoint checkpointing checkpoints
chief child chip chisquare cho choice cholesky choose chrome chunk cid cijk ckpt claims clamp
class client clip clk clock clocks clone cloned close closed cloud cluster clustering cmem cmn
coalesced code codegen col coll collapsed collect collected collection collective collectives
column combinations combined comm command common comms communicate communication communicator comp
compare comparison compat compatible compil compilation compile compiled compiler complete
completed completeness completion complex compose composite compressed compression computation
computations compute computeinternalgradients concat concatenate concrete concurrent cond
condition conditional config configuration confusion conj connect connection const constant
constants constructors consume context contextlib contiguous contracting contractions contrib
control controls conv conversion convert convolution convolutions coo cooperative coordinate
coordinates copies copy copydeviceto core corr correlation cos cosh cosine cost count counted
counter counters cpp cpu cpy create created creation criterion critical crop cross csf cshuffle
csr csv ct cta ctc ctx ctypes cu cub cublas cublaslt cuda cudnn cufft cuh cum cummax cummin
cumprod cumsum cumulative cupti curand cusolver cusparse custom cut cutlass cv cversions cwise
cycle cycles da damage damaged data database dataloader dataset datasets datasource db dcn dcudnn
dd ddp deallocation debug decay decode decoder decorate decorator deduplicated deep deeper def
default defchararray deferring defined deformable delta deltas demanded demangled dense dependency
deprecated deprecation deprecations deps depth depthwise dequeue derivatives derived desc descend
description descriptor deserialize dest destination destroy destruction det detach detail details
dev device devices devicescan df dfma dgrad diag diagnostic diagonal dict die differs diffusers
digits dilate dilated dilation dim dimension dimensions dims direct directed direction dirichlet
dispatch dispatcher dispatches display dist distribute distributed distribution div divide divided
dk dlpack dma dnn document does domain donation done dot double dq driver droop drooped dropout
dropped ds dst dto dtoh dtype dtypes dump duplicate duration durations dv dynamic dynamo dz each
eager earray ed edge edges ee effects efficient eigen eigenmetakernel eigh ein einsum einsumfunc
element elements elementwise else elu emb embed embedding embeddings embs empty emset enable
encode encoder end ended ends engine enqueue ensure enter entire entries entropy enum enumerate
environment envs ep epilogue epoch epoll eq equal er erf erfc erfinv error errors escapes est
estimated etc etw ev eval evaluat evaluate evaluator even event events every everything ex example
examples exceeded exception exceptions exclusive exec executable execute executed execution
executions executor exist exists exit exp expand experimental expert explicit expm exponential
export exported ext extdata extend extension external extract eye fabric fadd fake false family
fast faster fastparquet fault fb fbar fcompute fd fdw feature fecs fermi fetch fetches few fewer
ff ffi ffma fft field fifo file filename filesystem fill fillbuffer fillfunctor filter filtered
finalize finished finite firefox first fit fixed flags flash flashinfer flat flatten flax flexible
flight flip float floor floordiv flops flow flush fmac fmha fmod fmul fn fnu fnuz fold folded
folding for foreach fork form format formats formatted formatting forward forwardprop found fp
fprop fr frac fragmentation frame frames framework free freq fresh from fromnumeric front frozen
fsdp ftrl full fullest fully fun func function functional functions functor functors funm fused
fusion futex future futures fw fwd fwdbwd fx gamma gammabeta garbage gather gathers gb gbit gbs gc
ge gecko geev gelu gemm gemv gen general generalized generat generate generated generation
generator generic genexpr geometric geomspace geqrf gesdd gesvd get getitem getlimits getrf gfx gh
gi gigabytes git given global gloo glow glu gmem gmma gone google gpu grad gradient
gradientdescent gradients grain graph graphlaunch graphs grd greater green grew grid gridwise
group grouped groupnorm groups gru gt gtcx gumbel gv gz gzip had haiku half handle handler hard
hardshrink hardsigmoid hardswish hardtanh hardware harm has hasattr hash hashable have hbm hbmc
head header heap heev heevd held helper helpers hetrf hgemm hi hidden high hijax hinge hip hipblas
histc histogram histograms history hl hlo hmma hn hnr hold holder holds home hook hooks hopper
host hostname hosts hot hpp hpu hroni hsa hsh hss hsv hto htod hub huber hz ias ib ici icr id
ident identity idle ids idx ie ient if ifft ifnull igemm ignore ii il im imag image imageio
immutable imperative impl implausible implicit impls import imported importer imread in inal
include included index indexed indexing indices inductor inexact inf infeed infer inference
inferred infinity inflated info ing init initialize initializers inner inplace input inputs
insertion inside inspect inspector instance instant instantiate instinct instruction instructions
instrumentation int integer integral integrate intel interface interleave intermediate internal
interpolation interpreter intersect interval into introspect inv invalid inversion invert invoke
io iota iotools ipl ipynb ipython ir irfft is isa isfinite isinf isinstance isnan issue it item
iter iteration iterator its itself jacobi jax jaxlib jaxpr jit job join journal json jsonl jv jvp
kbit kd kepler kept keras kern kernel kernels key keys keyword kfd kind kineto kl known knuth kron
kthvalue kv kwargs label labels lacks lamb lambda lambdifygenerated lane lapack laplace larf large
larger late launch launched launches launching lax layer layernorm layers layout layouts lazy ldg
ldgsts ldidt lds ldsb le leading leaky leaves left legacy length lerp less level levels lfs lgamma
lhs lib libraries library librosa lies lifetimes lift lightning like likely limit linalg line
linear linearize linen lines linkage links linspace lion list listener lists lite literal literals
little lj ll llm lmr load loaded loader loading loads loat local localhost locals location lock
locked log logaddexp loggamma logger loggers logging logical logistic logit logits logm lognormal
logspace logsumexp long longer longest looks lookup loop loss losses lossy lost lovelace low lower
lowering lrn lru lstm lt lu made main mainloop major make makes malloc managed manager mangled
manip manual many map margin mark marked marker markers marks mask masked mat matched math matmul
matpush matrix matvec max maximum maxpool maxwell mb mbit mean means measured median mega megacore
megascale mem memcpy memcpydtod memcpydtoh memcpyh memcpyhtod memcpyhtoh memmap memory memset
merge merged mergesort mesh meshgrid message meta metadata method methods metric metrics mfma mha
mi microsecond microseconds migration millisecond milliseconds min miniconda minimum minor minus
miopen misc mish missing mixed mixins mkl mklcpu mkldnn mla mlir mm mma mode model module modules
moe moments momentum more mostly moveaxis movedim mpi mps ms msccl mse msg mt mtia mul multi
multiarray multiblock multihead multimem multinomial multiply multiprocessing multiprocessor
multiprocessors multivariate must mutex mv mxfp mxu na nadam name named names namespace naming nan
nanargmax nanargmin nanfunctions nanosecond nanoseconds narrow native nccl nchw nchwto ndimage
ndjson ndtri ne nearest need needed neg negate negative neither nelems neon nest nested net never
new newdocs next nextafter nhwc nhwckrsc nhwcto nibabel nic nll nms nn nnt nnx no nocast node
noise non none nonzero nor norm normal normalisation normalization normalize not note nothing np
npy npyio npz ns nsight nsys nt ntn null num numa number numbers numeric numerical numerics
numerictypes numpy nv nvfp nvidia nvjet nvl nvprof nvshmem nvtx obj object objects occ occupancy
occurrences oci odeint of off offset offsets ogs on once one oneccl onednn ones onesweep only oom
op opaque open oper operand operation operations operator ops opt optax optimizer option optional
options or orbax orch order ordinal ords orgqr origin ormqr orthogonal osrt other others our out
outer outfeed outlier outliers output outputs outside over overhead override overrideable
overrides own owner pack package packages packed packet packets pad padded padding page pageable
paged pandas panic parallel param parameter parameters params parent pareto parquet parse parser
parsing part partial partition partitioned partitioning parts pascal pass path pause pauses
payload pb pc pcie pct pdist peak peer peers peft pending per percent percentile perf perfetto
performance period permutation permute persist persistent pfor pftrace pg ph phase philox pickle
pid piecewise pil pingpong pinned pinv pinverse pip pitch pixel pj pjit pjrt pkl pl place
placeholder places plain plane planes plus pmap pmc po pocketfft pod poi pointer pointwise poisson
polar policy poll polygamma polymorphic polynomial pool pooling popcnt popen post potrf pow power
pp ppm pprof pragma pre precise precision pred predict prefetch prefill prefix pregraph prelu
prepare preprocessing preserving pretty primary primitive prims print printer printing
printoptions priority private privateuse prng process processes processing prod produce produced
product products prof profile profiled profiler profilerstep profiles profiling progbar program
programs projections prologue promote promotion prop properties property proto protocol provenance
ps pt ptds pthread pto ptp ptr ptsz pull pure pushing put pwrmgr px pxla py pyarrow pybind pydicom
python pytorch pyw pyx qib qint qk qr qrf quant quantile quantization quantize query queue queued
queues quint rademacher radix ragged ran rand randint randn random randomuniform randperm range
ranges rank ranks rasterio rate ratio ravel raw rayleigh rb rbg rccl rd read reader readers
readinto readvariableop ready real reason rebatch receive recfunctions recip reciprocal record
recorded recorder recording records recur recurrent recurs recv red redispatch reduce reduction
reductions ref reference reflection regex region registers registry regs rejection relative
release relu rem remainder remat rematted remote remotecall removed rendezvous renorm renormalize
reorder repeat repeats replace replayed replica replicated replication repr req requested reraise
reserved reservoir reshape resize resnet resolve resource resources resp rest restore restrict
result resume return retval reuse reverse rewriter rfft rgb rhs right ring rm rms rmsprop rn rng
rnn rnnv ro roc rocblas rocclr rocdecode rocjpeg rocpd rocprim rocprof rocprofiler rocprofv
rocrand roctracer roctx roll room root roots rope rot rotary rotate round rounds routing row rows
rowwisemoments rr rrelu rs rsf rsqrt rss rsub rt rule run runs runtime rwlock same sample sampler
samples sampling save saved saving say says sc scalar scalars scale scaled scalepackedtensor scan
scankernel scanner scatter sched schedule schedules schema schur scimath scipy scope scores scr
scratch script scs sct sctc sctd scudnn sdca sdcz sdk sdpa searchsorted second seconds section
seed segment segmented segments select selection selector selectors self selu sem send sentence
separated seq sequence sequencer serialization serialize serve service serving session set
setlimit setops sets setting setxor sgd sgemm sgpr sh shallow shape shapes shard sharded sharding
shardings share shared sheet shift shm shmem short shot should shown shuffle side sided sig
sigmoid sign signed significant silu simd simds simt sin sinc sine single sinh sink site size
sizes skew skip skipped sleep sli slice sliced slices slicing sliding slinky slogdet slope slow
slower slowest sm small smart smem smisc smooth sms sn snapshot so socket soft softmax softplus
softshrink softsign solve solver some something sort sorted sorting soundfile source sourcemap
space sparse spatial spec special speedscope sph splash split splitk splitkreduce sprop sq sqlite
sqrt sqrtm square squared squaring squeeze sram src ss sse ssl stable stack stacks stage stages
stall standard standardize start starts stat state stateful stateless states static stats status
std stdin step stepped steps stepscope stf stft stochastic stop stopped storage stores str
strategy stream streamk strict stride stridebatch strided strides string strings structure
structured stub sub subdtype subprocess subscribe substr substring subtensoropwith subtract such
sum summaries summary summed sunk surrogatepass sv svd swap swapaxes swapdimension swish switch
sxm sy sycl syevd sym symbol symbols symm sync synchronization synchronize sys syscall system
systems sz table tables tachyon tag tail take taken takes tall tan tanh tape target task tb tc
tcgen tcs tec telemetry tell tem temp template temporary tensor tensorboard tensorflow tensorop
tensorrt tensors tensorstore teraflops test text tf tfe tfprof tfrt th than that the them then
they this thnn those thq thread threading threadpool threads threefry threshold throttle through
throughput thrust thunk thunks tid tifffile tile tiles tilesize time timed timeline times
timeseries timestamp timing timm tmp tn tnn tnt to together toggle toggles token tokens toks told
tolist toml too tool top topk torch torchinductor torchvision total tpu trace traceable traceback
traced tracer traces tracing track trackable tracking tracks train trainer training traits
transfer transform transformer transformers transforms transport transpose trapz tree trees trf
tri triangular tricks tril trip triplet triton triu trivial trs trsm trtri true truediv trunc
truncate truncated trusted try ts tsl tst tstate tsv tt tuple turing two twodim tx txt type
typename types ucc ucp ufunc ufunclike ufuncs uint ul um umath umma un unary unaryop unattributed
unbatch unbind uncertain unconnected undisturbed unflatten unfold ungqr unified uniform unique
unit units unknown unmap unpickler unpool unprivileged unravel unrecorded unroll unrolled unsafe
unscale unsigned unsorted unsqueeze unstack until unweighted up update updates upsample upsampling
us usage use user usr usual utc utf util utilities utils val valid validate validation valu value
values vander var variable variables variant varlen vdot vec vector vectorize vectorized vega
vendor venv version versions vex vf vgpr view viewer virtual visualization viztracer vjp vld vllm
vmap vmem void volatile volta voltage vpu vram vreg vres vst vulkan wait waited waiting waits wal
wald wall warm warning warp warpgroup warpgroupsize warps was wave weak weibull weight weights
were wgmma wgr wgrad what when where while who whole why width window windowed winogra winograd
wire with within without wmma work worker workers workgroup workspace would wr wrap wrapp wrapped
wrapper write writer writers written xdl xdlops xent xf xinfo xla xladot xlogy xlu xmap xml xmma
xor xpu xyz xz yaml yes yml ynn za zarr zero zeros zeta zip zstandard zstd
"""
WORDS: Final = frozenset(_WORDS.split())
