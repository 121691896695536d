"""Words that no redaction replaces (python -m generate)."""

from __future__ import annotations

from typing import Final

_WORDS: Final = """
aa abort abs abseil absl absolute abstract abstractify ac accept acceptable access accessed
accessor accidental accum accumulate accumulated accumulator achieved acos acosh acquire act
action activation activations active activity ad ada adadelta adafactor adagrad adam adamw
adaptive add addbias addbmm addcdiv addcmul added addmm addmv addr address addtensor adjoint
adjust advanced affine after afz agent agents aggregate aggregator ailk airy al alg algobw alias
aliases aliasing align aligned alik alike all allclose allgather alloc allocate allocated
allocation allocator allreduce alltoall alone along alpha alu always amax ambiguous amd amin
aminmax amount amp ampere amsgrad an analysis analyzer and angle ann annotate annotated annotation
annotations anonymous another any aot apache api append apply approx approximate arange arbitrary
arccos arccosh arch archive arcsin arcsinh arctan arctanh are arg argmax argmin args argsort
argument arguments argwhere arithmetic array arraylike arraypad arrayprint arrays arraysetops
arrayterator arrow as asarray ascii asin asinh asked assert assign assignaddvariableop astype
async asynchronous asyncio at atan atanh aten atleast ato atomic att attention attn attribute
attributes attrs audio auto autocast autograd autograph autotun autotuning available aval average
avg avgpool avx await awaiting axes axis back backend backends backprop backward baddbmm balanced
ball band banded bandwidth banks barrier bartlett base basearray baseline bat batch batchdecode
batched batches batching batchnorm batchprefill bb bbs bcall bcast bce bcopy bdot be beam before
began begin begun bench bernoulli beside bessel best beta betainc between beyond bf bfc bfloat
bfnrt bh bias biasadd biasnhwc bicubic big bilinear bin binary binaryop bincount bind binom
binomial bit bitcast bitmatrix bitonic bits bitwise bjit bjlk blackman blackwell blas bljk block
blocked blocks bmm bmp bn bname bnorm board body bool boolean boosted both bound boundaries
bounding box boxes bpad bprop bqqqiqqii brain branch breakdown brecv bridge broadcast broadcasting
broken bs bsc bscalar bsend bsr bucket bucketize buffer bufferseq build builder building builtins
bulk busy but bw bwd by byte bytecode bytes bzip cache cached cachemask calculate calculator call
callable callback callbacks called caller calls can cancellation candidate cannot canonical
canonicalize cap capability capitalize capture capturing cardinality cartesian case cast cat
catarray categorical categories category cauchy causal cause causes cbid cbrt cc ccl ccol ccp cdf
cdist ceil cell celu center centered certain cga chain chalf change changed channel char charged
chebyshev check checker checkify checknumerics checkpoint checkpointing checkpoints chief child
chip chisquare cho choice cholesky choose chr chrome chunk chunks cid cijk circular ckpt claims
clamp class clear client clip clk clock clocks clone cloned close closed cloud cluster clustering
clz cmem cmn coalesce coalesced code codegen col coll collapsed collect collected collection
collective collectives column comb combination combinations combined combiner comm command common
comms communicate communication communicator comp compare comparison compat compatible compil
compilation compile compiled compiler complete completed completeness completion complex component
components compose composite compress compressed compression computation computations compute
computeinternalgradients concat concatenate concrete concurrent cond condition conditional config
configuration configure confusion conj conjugate connect connection consecutive const constant
constants constrain constraint constructors consume contains context contextlib contiguous
contracting contractions contrast contrastv contrib control controls conv conversion convert
convolution coo cooperative coordinate coordinates copies copy copydeviceto copysign core corr
corrcoef correlation cos cosh cosine cost count counted counter counters counts cov cpp cpu cpy
create created creation criterion critical crop cross crow csc csf cshuffle cslt csr csv ct cta
ctc cts ctx ctypes cu cub cublas cublaslt cuda cudnn cufft cuh cum cumlogsumexp cummax cummaxmin
cummin cumprod cumsum cumulative cupti curand cusolver cusparse custom cut cutlass cv cversions
cwise cycle cycles da damage damaged data database dataloader dataset datasets datasource dawsn db
dce dcn dcudnn dd ddp deallocation debug decay decode decoder decorate decorator deduplicated deep
deeper def default defaults defchararray deferring defined deformable defun deg degrees delete
delta deltas demanded demangled dense dep dependency deprecated deprecation deprecations deps
depth depthwise dequantize dequeue derivatives derive derived desc descend descent description
descriptor deserialize dest destination destroy destruction det detach detail details determinant
deterministic dev device devices devicescan df dfma dgrad diag diagflat diagnostic diagonal dict
die diff difference differentiable differs diffusers digamma digits dilate dilated dilation dim
dimension dimensions dims direct directed direction dirichlet disable disk dispatch dispatcher
display dist distance distorted distribute distributed distribution div divide divmod dk dlpack
dma dnn document does domain donation done dot double down dq draw driver droop drooped dropout
dropped ds dsplit dst dstack dto dtoh dtype dtypes dual dummy dump duplicate duration durations dv
dyn dynamic dynamo dz each eager earray ed edge edges edit ee eff effects efficient
efficientzerotensor eig eigen eigenmetakernel eigh eigvals eigvalsh ein einsum einsumfunc element
elements elementwise elemt else elu emb embed embedding embs empty emset emulates enable enabled
encode encoder end ended ends endswith energy engine enqueue ensemble ensure enter entire entr
entries entropy enum enumerate environment envs ep epilogue epoch epoll eq equal er erase erf erfc
erfcx erfinv error errors escapes est estimated estimator etc etw euclidean ev eval evaluat
evaluate evaluation evaluator even event events every everything ex exact example examples
exceeded except exception exceptions exclusive exec executable execute executed execution
executions executor exist existing exists exit exp expand expandtabs experimental expert expint
expit explicit expm exponential export exported ext extdata extend extension external extract eye
fabric fabs fact factor factorial fadd fake fallback false family fast faster fastest fastparquet
fault fb fbar fbgemm fcompute fd fdo fdw feature fecs fermi fetch fetches few fewer ff ffi ffma
fft fftfreq fftn fftnd fftshift field fifo file filename filespec filesystem fill fillbuffer
filled fillfunctor filter filtered finalize find fingerprint finished finite firefox first fit fix
fixed flags flash flashinfer flat flatten flax flexible flight flip fliplr flipud float floating
floatlist floor floordiv flops flow flush fmac fmax fmha fmin fmod fmul fn fnu fnuz fold folded
folding for foreach fork form format formats formatted formatting forward forwardprop found fp
fprint fprop fq fr frac fractional fragmentation frame frames framework free freed freq frequency
fresh fresnel frexp frobenius from fromnumeric front frozen fsdp fsum ftrl full fullest fully fun
func function functional functions functor functorch functors funm fused fusion futex future
futures fw fwd fwdbwd fx gains gamma gammabeta gammainc gammaincc gammaln gap garbage gather gb
gbit gbs gc gcd ge gecko geev gelu gemm gemv gen general generalized generat generate generated
generation generator generic genexpr geometric geomspace geqrf ger gesdd gesvd get getitem
getlimits getrf gfx gh gi gif gigabytes git given glimpse global gloo glow glu gmem gmma gone
google gpu grad gradient gradientdescent gradients grain grams graph graphlaunch graphs grd
greater greedy green grew grid gridwise group grouped groupnorm groups gru gt gtcx guarantee
gumbel gv gz gzip had haiku half hamming handle handler hann hard hardshrink hardsigmoid hardswish
hardtanh hardware harm has hasattr hash hashable hashed hashes have hbm hbmc hccl header heap
heartbeat heaviside heev heevd held helper helpers hermite hetrf hex hfft hfftn hgemm hi high
hijax hinge hip hipblas histc histogram histogramdd histograms history hit hits hl hlo hmma hn hnr
hold holder holds home hook hooks hopper host hostname hosts hot householder hpp hpu hroni hsa hsh
hsplit hspmm hss hstack hsv hto htod hub huber hue hybrid hypot hz iand ias ib ici icr id ident
identity idle ids idx ie ient if ifft ifftn ifftnd ifftshift ifnull igamma igammac igemm ignore
ihfft ihfftn ii il ilshift im imag image imageio immutable imperative impl implausible implicit
impls import imported importer imread in inal include included incomplete index indexed indexing
indices inductor inexact inf infeed infer inference inferred infinitely infinity inflated info ing
init initial initialization initialize initialized initializers inner inplace input inputs insert
insertion inside inspect inspector instance instant instantiate instinct instruction instructions
instrumentation int integer integral integrate intel interface interleave intermediate internal
interpolate interpolation interpreter intersect interval intlist into intra introspect ints inv
invalid inverse inversion invert invoke io ior iota iotools ipl ipynb ipython ir irfft irfftn
irfftnd irshift is isa isalnum isalpha isclose isdecimal isdigit isfinite isidentifier isin isinf
isinstance islower isnan isneginf isnot isnumeric isotonic isposinf isprintable isqrt isreal
isspace issubclass issue istft istitle isupper it item items iter iteration iterator its itself
ixor jacobi jagged jax jaxlib jaxpr jit job join journal jpeg json jsonl jv jvp jxl kaiser kbit kd
kepler kept keras kern kernel kernels key keys keyword kfd kind kineto kl kmc kmeans known knuth
kron kthvalue kv kwargs label labels lacks laguerre lamb lambda lambdifygenerated lanczos lane
lapack laplace larf large larger last latin launch launched launches launching lax layer layernorm
layers layout lazy lcm ldexp ldg ldgsts ldidt ldl lds ldsb le leading leaf leaky learnable learned
leaves left legacy legendre len length lengths lerp less level levels lfs lgamma lhs lib libraries
library librosa lies lifetimes lift lightning like likely limit linalg line linear linearize linen
lineno lines linkage links linspace lion list listener lists lite literal literals little lj ljust
ll llm lmdb lmr load loaded loader loading loads loat local localhost locals location lock log
logaddexp logarithm logcumsumexp logdet loggamma logger loggers logging logical logistic logit
logits logm lognormal logspace logsumexp long longer longest look looks lookup loop loss losses
lossy lost lovelace low lower lowering lrn lru lshift lstm lstmv lstrip lstsq lt lu made main
mainloop major make makes malloc managed manager mangled manip manual many map margin mark marked
marker markers marks mask masked mat match matched matching materialize math mathremainder matmul
matpush matrix matvec max maximum maxpool maxwell mb mbit mdl mean means measured median mega
megacore megascale mem memcpy memcpydtod memcpydtoh memcpyh memcpyhtod memcpyhtoh memmap memory
memset merge merged mergesort mesh meshgrid message meta metadata method methods metric metrics
mfcc mfma mha mi microsecond microseconds migration millisecond milliseconds min minibatch
minibatches miniconda minimum minor minus miopen mirror misc mish miss missing mixed mixins mkl
mklcpu mkldnn mla mlir mm mma mod mode model modf modified module modules moe moments momentum
monotonic more most mostly moveaxis movedim moving mpi mps ms msccl mse msg msort mt mtia mul
mulhi multi multiarray multiblock multigammaln multihead multilabel multimem multinomial multiple
multiply multiprocessing multiprocessor multiprocessors multivariate must mutable mutex mv
mvlgamma mxfp mxu na nadam name named names namespace naming nan nanargmax nanargmin nanfunctions
nanmean nanmedian nanosecond nanoseconds nanquantile nansum narrow native nccl ncf nchw nchwto nd
ndimage ndjson ndtr ndtri ne nearest need needed neg negate negative neighbor neighbors neither
nelems neon nest nested net network never new newdocs next nextafter nhwc nhwckrsc nhwcto nibabel
nic nll nms nn nnpack nnt nnx nnz no nocast node noise non none nonzero nor norm normal
normalization normalize not note nothing np npy npyio npz nr ns nsight nsys nt nth ntn nuclear
null num numa number numbers numel numeric numerical numerics numerictypes numpy nv nvfp nvidia
nvjet nvl nvprof nvshmem nvtx obj object objects obs occ occupancy occurrences oci oct odeint of
off offset offsets ogs on once one oneccl onednn ones onesweep only oom op opaque open oper
operand operation operations operator ops opt optax optimization optimize optimized optimizer
option optional options or orbax orch ord order ordered ordering ordinal ords orgqr origin ormqr
orthogonal osrt other others our out outer outfeed outlier outliers output outputs outside over
overhead overlap overlapping overlaps override overrideable overrides own owner pack package
packages packed packet packets pad padded padding page pageable paged pairwise pandas panic
parallel parallelism param parameter parameterized parameters params parent pareto parquet parse
parser parsing part partial partition partitioned partitioning parts pascal pass patches path
pause pauses payload pb pc pcie pct pdist peak peek peer peers peft pending per percent percentile
perf perfetto performance period perm permutation permute permuted persist persistent pfor pftrace
pg ph phase philox physical pickle pid piecewise pil pin pingpong pinned pinv pinverse pip pitch
pixel pj pjit pjrt pkl pl place placeholder places plain plan plane planes plus pmap pmax pmc pmin
png po pocketfft pod poi point pointer points pointwise poisson polar policy poll polygamma
polymorphic polynomial pool pooling pop popcnt popen popitem positive post potrf pow power powsum
pp ppermute ppm pprof pragma pre precise precision pred predict prefetch prefill prefix pregraph
prelinearize prelinearized prelu prepack prepacked prepare preprocessing preserving pretty prev
prevent primal primary primitive prims print printer printing printoptions priority private
privateuse prng process processes processing prod produce produced product products prof profile
profiled profiler profilerstep profiles profiling progbar program programs projection projections
projective prologue promote promotion prop propagate properties property proposals proto protocol
provenance proximal prune ps psi psum pt ptds pthread pto ptp ptr ptsz pull pure push pushing put
pwrmgr px pxla py pyarrow pybind pydicom python pytorch pyw pyx qib qint qk qkv qparams qr qrf
qscheme quant quantile quantization quantize quantized query queue queued queues quint rad
rademacher radians radix ragged ran rand randint randn random randomuniform randperm range ranges
rank ranking ranks rasterio rate ratio ravel raw rayleigh rb rbg rccl rd read reader readers
reading readinto reads readvariableop ready real reason rebatch receive recfunctions recip
reciprocal record recorded recorder recording records recur recurs recv red redispatch reduce
reduced reducer reduction reductions ref reference reflection regex region register registers
registry regression regs regularized rejection relative release relu rem remainder remap remapping
remat rematted remote remotecall remove removed rendezvous renorm renormalize reorder repeat
replace replayed replica replicate replicated replication repr req requantization requantize
requested requires reraise rescale reserve reserved reservoir reset reshape resize resnet resolve
resource resources resp rest restore restrict result results resume retain retains retrieve return
retval reuse rev reverse rewrite rewriter rfft rfftfreq rfftn rfftnd rfind rgb rhs right rindex
ring rint rjust rm rms rmsprop rn rng rnn ro roc rocblas rocclr rocdecode rocjpeg rocpd rocprim
rocprof rocprofiler rocprofv rocrand roctracer roctx roll room root roots rope rot rotary rotate
round rounds routing row rows rowwise rowwisemoments rpartition rr rrelu rs rsf rshift rsplit
rsqrt rss rstrip rsub rt rule run runs runtime rwlock safe same sample sampled sampler samples
sampling saturate saturation save saved saving say says sc scalar scalars scale scaled
scalepackedtensor scales scan scankernel scanner scatter sched schedule schedules schema schur
scimath scipy scope scores scr scramble scratch script scripting scs sct sctc sctd scudnn sdca
sdcz sdk sdp sdpa search searchsorted second seconds section seed seen segment segmented segments
select selecting selection selector selectors self selu sem semi send sentence separated seq
seqlen sequence sequencer serializable serialization serialize serve service serving session set
setdefault setlimit setops sets setting setxor sgd sgemm sgn sgpr sh shallow shape shapes shard
sharded sharding shardings share shared sheet shift shifted shm shmem short shot should shown
shrink shuffle shutdown side sided sig sigmoid sign signbit signed significant silu simd simds
similarity simt sin sinc sine single sinh sink site size sizes skew skip skipped sklearn sleep sli
slice sliced slices slicing sliding slinky slogdet slope slow slower slowest sm small smart smem
smisc smm smooth sms sn snapshot so sobol socket soft softmax softplus softshrink softsign solve
solver some something sort sorted sorting soundfile source sourcemap space spans sparse spatial
spdiags spec special spectrogram speedscope spence sph spherical splash split splitk splitkreduce
splitlines splits sprop spsolve sq sqlite sqrt sqrtm square squared squaring squeeze sram src ss
sse ssl sspaddmm stable stack stacks stage stages stall standard standardize start starts
startswith stat state stateful stateless states static statistics stats status std stdin step
steplog stepped steps stepscope stepsums stf stft stitch stochastic stop stopped storage stores
str strategy stream streamk strict stride stridebatch strided strides string strings strip strong
structure structured stub sub subcmul subdtype subprocess subscribe substr substring
subtensoropwith subtract such sum summaries summary summed sumprod sunk suppression surrogatepass
sv svd svdvals swap swapaxes swapcase swapdimension swapdims swish switch sxm sy sycl syevd sym
symbol symbolic symbols symm sync synchronization synchronize sys syscall system systems sz table
tables tachyon tag tail take taken takes tall tan tanh tape target task tb tbc tc tcgen tcs tec
telemetry tell tem temp template temporary tensor tensorboard tensordot tensorflow tensorinv
tensorop tensorrt tensors tensorsolve tensorstore teraflops test text tf tfe tfprof tfrt th than
that the then they this thnn those thq thread threading threadpool threads threefry threshold
throttle throttled through throughput thrust thunk thunks tid tifffile tile tiles tilesize time
timed timeline times timeseries timestamp timing timm tmp tn tnn tnt to together toggle toggles
token tokens toks told tolist toml too tool top topk torch torchinductor torchvision total tpu
trace traceable traceback traced tracer traces tracing track trackable tracking tracks train
trainer training traits transcode transfer transform transformer transformers transforms translate
transport transpose trapezoid trapz tree trees trf tri triangular tricks tridiagonal trigger tril
trilinear trip triplet triton triu trivial trs trsm trtri true truediv trunc truncate truncated
trusted try ts tsl tst tstate tsv tt tuple turing two twodim tx txt type typename types ucc ucp
ufunc ufunclike ufuncs uint ul um umath umma un unary unaryop unattributed unbatch unbind
uncertain uncompress unconnected undisturbed unflatten unfold ungqr unicode unified uniform
unigram unique unit units unknown unmap unpack unpickler unpool unprivileged unravel unrecorded
unroll unrolled unsafe unscale unshuffle unsigned unsorted unsqueeze unstack unstage until
unweighted unwrap up update upper upsample upsampling us usage use user usr usual utc utf util
utilities utils val valid validate validation valu value values vander var variable variables
variant varlen vars vdot vec vecdot vector vectorize vectorized vega vendor venv version versions
vex vf vgpr view viewer virtual visualization viztracer vjp vld vllm vmap vmem vocab void volatile
volta voltage vpu vram vreg vres vsplit vst vstack vulkan wait waiting waits wal wald wall warm
warn warning warp warpgroup warpgroupsize warps was wav wave weak weibull weight weighted weights
were wgmma wgr wgrad what when where while who whole why width window windowed winogra winograd
wire with within without wmma work worker workers workgroup workspace would wr wrap wrapp wrapped
wrapper write writer writers written wrote xdivy xdl xdlops xent xf xinfo xla xladot xlog xlogy
xlu xmap xml xmma xor xpu xyz xz yaml yes yml ynn yogi your za zarr zero zeros zerotensor zeta
zfill zip zstandard zstd
"""
WORDS: Final = frozenset(_WORDS.split())
