"""Words that no redaction replaces (python -m stepscope.surfaces.generate)."""

from __future__ import annotations

from typing import Final

from stepscope.redaction.op_words import OP_WORDS

_WORDS: Final = """
abs abstract ac access accessed achieved acos acosh acquire act activation activity ad ada
adadelta adafactor adagrad adam adamw adaptive add addbias added adding addmm addr address
addtensor advanced after afz agent ailk al aliases align alike all alloc allocate allocated
allocating allocation allocator alone alu amd amount ampere an analysis analyzer and ann annotated
annotation annotations anonymous another any api apply approx arange archive are arg argmax argmin
args argument arguments arithmetic array arraypad arrayprint arrays arraysetops arrayterator as
asarray asin asinh assert assign async asynchronous at atan atanh aten atomic att attention attn
attributes audio auto autograd autograph autotun available average avg avx await backend backprop
backward baddbmm balanced bandwidth barrier base basearray baseline batch batchdecode batches
batching batchprefill bb bbs be before begin begun below bernoulli between bf bfloat bfnrt bh bias
biasadd biasnhwc binary binaryop bincount bit bitcast bitmatrix bitonic bits bitwise blackwell
bljk block blocked blocks bmm bn bname bnorm board body bool boosted both bottleneck bound bprop
brain branch breakdown bridge broadcast buffer build builder building builtins busy but bw bwd by
byte bytes bzip cache call callable callback callbacks called calls cancellation candidate cannot
cap capture case cast cat catarray categories category cbid cbrt ccp cdf ceil cell certain chain
change changing channel char check checker checkify checkpoint checkpoints child chip cholesky
choose chunk cid cijk clamp class client clip clock clocks clone cloned close closed cloud cluster
clustering cmem cmn code codegen col collect collected collection collective collectives column
combinations comm common communication comp compare comparison compat compil compilation compile
compiled compiler compiling complete completeness completion complex composite computation
computations compute computeinternalgradients concat concatenate concrete concurrent cond
condition conditional config configuration confusion const constant constants constructors consume
context contextlib contiguous contracting contractions control controls conv conversion convert
convolution convolutions copies copy copydeviceto copying core corr correlation cosh cosine count
counted counter counters cpp cpu cpy create creation criterion critical crop cross cshuffle ct ctc
ctx ctypes cu cub cublaslt cuda cudnn cum cumlogsumexp cumprod cumsum cumulative cupti curand
custom cut cutlass cv cversions cycle cycles da damage damaged data dataloader dataset datasets
datasource dcn dcudnn dd deallocation debug decode decoder decomposition decorator deduplicated
deep deeper def default defchararray delta demanded dense dependency deprecated deprecation
deprecations deps depthwise dequeue derivatives derived description dest destination detail
details dev device devices devicescan df dgrad dict die differs dilate dilated dim dimension
dimensions dims direct directed direction dispatch dist distinct distribute distribution div
divide dk dlpack dma dnn document does domain done dot double dq driver droop drooped dropout
dropped dst dto dtoh dtype dtypes duplicate duration durations dv dynamic each eager earray ed
edge ee effects eigen eigenmetakernel einsum einsumfunc element elementwise else emb embedding
embeddings embs empty emset encode encoder encoding end ended ends enqueue entropy enumerate
environment ep epoch equal er erf error errors escapes est ev eval even event events everything ex
example examples exceeded exceptions exclusive exec executable execute execution executions
executor exist exp expert exponential export exported expressions ext extension external fadd fast
faster fastparquet fb fd fdw feature fermi fetch fetches fewer ff ffi fft field fifo file filename
files filesystem fill fillbuffer fillfunctor filter finding finished finite first fit fixed flags
flash flat flatten flax flexible float floor flops flow flush fmac fmha fmul fn fnu fnuz for
foreach format formats formatting forward forwardprop found fp fprop frac fragmentation frame
framework free freq from fromnumeric frozen ftrl fullest fun func function functional functions
functor fused fusion fw fwd fwdbwd fx gammabeta garbage gather gathers gb gelu gemm gemv general
generate generation generator generic genexpr get getitem getlimits gfx gi gigabytes git given
global glow gmma gpu grad gradient gradientdescent gradients grain graph graphs greater grew grid
group grouped groupnorm groups grows gru gtcx gz gzip half handle handler hardware has hashable
hbm hbmc heap helper helpers hgemm hi hidden high hijax hip histogram histograms hl hlo hmma holds
hopper host hosts hot hpu hsa hsh hss hto htod ias ici icr id ident identity idle idx ient if
igemm ignore il im imag image imageio images immutable imperative impl implicit impls import
importer imread in index indexed indexing indices inductor inf infeed inference inferred infinity
info ing init initializers inner inplace input insertion inspect instance instant instinct
instruction instructions int integer integrate intel interface interleave intermediate internal
interpolation interval introspect invalid inverse inverting io iota iotools ipl ir is isa issue it
item iter iterator its itself jax jaxlib jaxpr jit job join jpeg json jv jvp kb kd kepler kept
keras kernel kernels key keyword ki kind kineto known kv label labels lamb lambda large larger
launch launched launches launching lax layer layers layout lazy ldidt ldsb leading leave left
legacy length less level levels lfs lhs lib library librosa lifetimes lift lightning like likely
limit linalg line linear linearize lines links lion list listener lite literal literals little ll
lmr load loader loads loat local locals lock log logger logging logical logistic logsumexp long
longer looks lookup loop loss lovelace low lower lowering lru lstm main major making malloc
managed manager manip map marked markers marks masked mat matched math matmul matpush matrix max
maximum maxwell mb mean means measured median mega megacore megascale mem memcpy memcpydtod
memcpydtoh memcpyh memcpyhtod memcpyhtoh memmap memory memset merge mergesort mesh message meta
metadata method methods metric metrics mfma mha mi min minimum minor minus misc missing mixins mkl
mklcpu mkldnn mla mlir mm mma mode model module modules moe momentum more most mostly ms msccl mse
msg mt mtia mul multi multiarray multiblock multihead multiply multiprocessor must mxfp mxu na
nadam name named namespace naming nan nanfunctions nanoseconds native nccl nchw nchwto ndimage
nearest neg negate negative nelems neon nest nested net never new newdocs next nhwc nhwcto nibabel
nll nn no node noise non none nonzero norm normal normalisation normalization not note nothing np
npyio ns null num number numbers numeric numerical numerics numerictypes numpy nvfp nvidia nvjet
nvshmem nvtx object occ occupancy occurrences oci of off offset offsets ogs on one oneccl onesweep
only op opaque open operation operations operator ops opt optax optimizer option optional options
or orbax ordinal origin other out outfeed output outside overhead override overrides own owner
pack packages packed pad padded padding pageable paged pandas parallel param parameter parent
parquet parse parser parsing part partial partition partitioned partitioning pascal path pause
pauses payload pb pct peak peer per percent perf performance permute persist phase philox pickle
pid pil pinned pipeline pitch pj pjit place places plain plane planes plus pmap png pocketfft poi
pointwise policy poll polymorphic polynomial pool pooling popcnt pow power pp precision pred
predict prefetch prefill prefix preprocessing pretty primitive prims print printer printing
printoptions priority private privateuse prng process processing prod produce product products
profile profiled profiler progbar program programs prop properties property proto protocol
provenance ps pt pto ptr pull pure pushing put pwrmgr px pxla py pyarrow pybind pydicom python
qint qr quant quantization queue queued queues quint radix ragged random randomuniform range rank
ranks rasterio rate ratio raw rb rbg rccl rd read reader readers reading ready real rearranging
reason rebatch receive recfunctions record recorded recorder recording records recur recurrent
recurs recv red reduce reduction reductions ref reference regex region registers registry regs
regular relative relaxed release relu rem remainder remat rematted remote removed rendezvous
repeat replace replayed replica repr req requested reserved reshape resource resources resp
restore result reverse rewriter rhs right ring rm rms rmsprop rng rnn rnnv rocclr rocprofiler
rocrand roctracer root rope rotary rotate round routing rows rowwisemoments rr rsqrt rss rt rule
run runs runtime same sample sampler samples sampling save saved saving say sc scalar scalars
scale scaled scalepackedtensor scan scankernel scanner scatter scimath scope scs sct sctc sctd
scudnn sdca sdcz sdk sdpa second section seed segment segmented select selector self send seq
sequence sequencer serialization service serving session set setops sets sgd sgemm shape shapes
shard sharded sharding shardings share shared shift shm short shot should shuffle side sigmoid
sign significant silu sine single singular sinh site size sizes skew skip skipped sleep slice
slices slicing slinky slow slower slowest sm small smart smisc sms sn snapshot so soft softmax
solve sort sorting soundfile source sourcemap space sparse spatial spec special splash split
splitk splitting sprop sqrt square sram src ss sse stable stack stage stages stall standard start
stat state stateful stateless states static stats status std step stepped steps stepscope
stochastic stop stopped stores str stream streamk strict stride strided string strings structured
sub subscribe substring subtensoropwith subtract sum summaries summary sunk surrogatepass svd swap
swapdimension switch sym sync synchronization synchronize table tables tag take taken takes tan
tanh tape target task tb tc tcgen tcs tec telemetry tell tem temp template temporary tensor
tensorboard tensorflow tensorop tensors teraflops test text tf tfe tfprof tfrt than that the then
this thq thread threadpool threads threefry throttle throughput thunk thunks ti tid tifffile tile
tiles time timeline times timeseries to together toggle toggles token tolist top topk torch
torchvision total tpu trace traceable traceback traced tracer traces tracing track trackable
tracking train trainer training transfer transform transport transpose tree trees triangular
tricks triton true truediv try ts tuple turing two twodim type types ufunc ufunclike ufuncs uint
um umath umma unaryop unattributed unbatch uncertain unconnected uneven unified uniform unique
unit unknown unmap unprivileged unrecorded unsorted unstack until unweighted update updates us use
user utc utf util utils validate validation valu value values variable variables variant vec
vector vectorize vectorized vectors vendor version versions vertical vex vf viewer visualization
vld vllm vmap vmem void volta voltage vpu vram vreg vres vst wait waited waiting waits wanted
warning warp warps was weak weight weights were wgmma wgrad what where while why width window
windowed winogra winograd wire with without wmma work worker workers would wr wrap wrapped wrapper
write writer writing written xdl xdlops xent xla xladot xlu xmap xml xmma xor xpu xz yes za zarr
zero zeros zip zstandard
"""
WORDS: Final = OP_WORDS | frozenset(_WORDS.split())
