/** Names of kernels as people call them: `greater_equal<half>` for four lines of C++. */

const LONGEST = 64;
const SHORT = 24;
/** "void a::b<c>(d)": ops of frameworks have slashes instead. */
const CPLUSPLUS = /^(?:(?:void|__global__)\s+)?(?:\w+::)*\w+(?:<|\()/;

/** Kernels of libraries that wrap any operation; what they run is in their arguments. */
const WRAPPERS =
  /^(EigenMetaKernel|(un|vectorized_|unrolled_|legacy_)?elementwise_kernel(_\w+)?|reduce_kernel|index_elementwise_kernel|Kernel2?|device_kernel|cuApplyLayerNorm\w*)$/;

/** What an operation is called in the arguments of a wrapper; the first that matches counts. */
const OPERATIONS: readonly (readonly [RegExp, (match: RegExpExecArray) => string])[] = [
  [/\b(cutlass\w*_\d+x\d+\w*)/, ([, name = ""]) => name],
  [/\bscalar_(?:left|right)<[^<>]*?(?:Eigen::internal::)?(\w+)</, ([, name = ""]) => bare(name)],
  [/\bTensorConversionOp</, () => "convert"],
  [/\bTensorBroadcastingOp</, () => "broadcast"],
  [/\bTensorReductionOp<(?:Eigen::internal::)?(\w+)/, ([, name = ""]) => bare(name)],
  [/\bTensorCwise\w+Op<(?:\w+::)*(\w+)/, ([, name = ""]) => bare(name)],
  [/\bTensor(?!AssignOp|Map|Evaluator)(\w+)Op</, ([, name = ""]) => name.toLowerCase()],
  [/\b(?:CUDAFunctor|AUnaryFunctor|BUnaryFunctor|BinaryFunctor)_?(\w*)</, ([, name = ""]) => name],
  [/\b(\w+?)_kernel_(?:cuda|impl)\b(?<!gpu_kernel_impl)/, ([, name = ""]) => name],
  [/\b(\w+?)Functor</, ([, name = ""]) => name],
  [/\bReduceOp<[^<>]*?(\w+?)(?:Ops|Functor)</, ([, name = ""]) => `reduce ${name}`],
];

/** Types as a suffix. */
const TYPE = /(?:\bTensor<(?:Eigen::)?|Functor\w*<(?:c10::|at::)?|\bReduceOp<(?:c10::)?)(\w+)/;
const TYPES: Readonly<Record<string, string>> = {
  Half: "half",
  BFloat16: "bf16",
  bfloat16: "bf16",
};

function bare(functor: string): string {
  return functor.replace(/^scalar_/, "").replace(/_op$/, "");
}

/** The name without return type, parameters, namespaces and most arguments. */
export function shortName(name: string): string {
  if (name.length <= SHORT) return name;
  const tile = /^(Cijk_\w*?MT\d+x\d+x\d+)/.exec(name);
  if (tile) return tile[1] as string;
  const plain = name.replace(/\.kd$/, "");
  if (plain.includes("/") || !CPLUSPLUS.test(plain)) return plain;
  const { path, args } = parts(plain.replace(/^(void|__global__)\s+/, ""));
  const base = path.split("::").at(-1) || plain;
  if (!WRAPPERS.test(base)) return cut(args ? `${base}<${firstType(args)}>` : base);
  for (const [pattern, called] of OPERATIONS) {
    const match = pattern.exec(args);
    const operation = match && called(match);
    if (operation) return cut(withType(operation, args));
  }
  return cut(args ? `${base}<${firstType(args)}>` : base);
}

/** Qualified name and template arguments, both without what follows the arguments. */
function parts(text: string): { path: string; args: string } {
  const open = text.search(/[<(]/);
  if (open < 0 || text[open] === "(")
    return { path: open < 0 ? text : text.slice(0, open), args: "" };
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === "<") depth += 1;
    else if (text[i] === ">") depth -= 1;
    if (depth === 0) {
      // A namespace with arguments of its own: the name comes after them.
      const rest = text.slice(i + 1);
      if (rest.startsWith("::")) return parts(rest.slice(2));
      return { path: text.slice(0, open), args: text.slice(open + 1, i) };
    }
  }
  return { path: text.slice(0, open), args: text.slice(open + 1) };
}

/** Last part of the first argument: `UniformDistribution` of `a::UniformDistribution<b, c>, d`. */
function firstType(args: string): string {
  const first = /^\s*(?:\w+::)*(\w+)/.exec(args)?.[1] ?? "…";
  return TYPES[first] ?? first;
}

function withType(operation: string, args: string): string {
  if (operation.startsWith("cutlass")) return operation;
  const found = [...args.matchAll(new RegExp(TYPE, "g"))].map(
    ([, type = ""]) => TYPES[type] ?? type,
  );
  const [to] = found;
  if (operation === "convert") {
    const from = found.find((type) => type !== to) ?? to;
    return to ? `convert<${from}→${to}>` : operation;
  }
  // A comparison gives bool; what it compares tells more.
  const type = to === "bool" ? (found[1] ?? to) : to;
  return type ? `${operation}<${type}>` : operation;
}

function cut(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST - 1)}…`;
}

/** Short names that still tell the given names apart. */
export function shortNames(names: readonly string[]): string[] {
  const used = new Map<string, number>();
  return names.map((name) => {
    const short = shortName(name);
    if (short === name) return name;
    const before = used.get(short) ?? 0;
    used.set(short, before + 1);
    return before === 0 ? short : `${short} (${before + 1})`;
  });
}
