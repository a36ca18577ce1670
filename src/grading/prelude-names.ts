/** Names that a test of a Python program may use without asking the program. */

// cspell:disable
const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Built-in functions and types that only compute. */
export const computing = words(`
  abs all any ascii bin bool bytearray bytes chr complex dict divmod enumerate filter float format frozenset hex int
  isinstance iter len list map max min next oct ord pow range repr reversed round set slice sorted str sum tuple zip
`)

/** Other names that every program has. */
export const otherBuiltins = words(`
  aiter anext breakpoint callable classmethod compile copyright credits delattr dir eval exec exit getattr globals hasattr
  hash help id input issubclass license locals memoryview object open print property quit setattr staticmethod super type
  vars Ellipsis NotImplemented
`)

/** Modules that programs need not import. */
export const preludeModules = words(`
  array bisect cmath collections copy dataclasses datetime decimal enum fractions functools heapq io itertools json math
  operator queue random re statistics string sys time typing
`)

/** Names of these modules that programs need not import (the sandbox's prelude, of Python 3.9 to 3.14), and two that tests take for granted. */
export const preludeNames = words(`
  Decimal Fraction
  A ASCII AbstractSet Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator Awaitable BinaryIO
  BufferedIOBase BufferedRWPair BufferedRandom BufferedReader BufferedWriter ByteString BytesIO Callable ChainMap ClassVar
  Collection Concatenate Container ContextManager Coroutine Counter DEFAULT_BUFFER_SIZE DOTALL DefaultDict Deque Dict Error FileIO
  Final Formatter ForwardRef FrozenSet Generator Generic Hashable I IGNORECASE IO IOBase IncrementalNewlineDecoder ItemsView
  Iterable Iterator JSONDecodeError JSONDecoder JSONEncoder KeysView L LOCALE List Literal LiteralString M MAXYEAR MINYEAR
  MULTILINE Mapping MappingView Match MutableMapping MutableSequence MutableSet NOFLAG NamedTuple Never NewType NoReturn
  NormalDist NotRequired Optional OrderedDict ParamSpec ParamSpecArgs ParamSpecKwargs Pattern Protocol Random RawIOBase RegexFlag
  Required Reversible S SEEK_CUR SEEK_END SEEK_SET Self Sequence Set Sized StatisticsError StringIO SupportsAbs SupportsBytes
  SupportsComplex SupportsFloat SupportsIndex SupportsInt SupportsRound SystemRandom TYPE_CHECKING Template Text TextIO TextIOBase
  TextIOWrapper Tuple Type TypeAlias TypeGuard TypeVar TypeVarTuple TypedDict U UNICODE UTC Union Unpack UnsupportedOperation
  UserDict UserList UserString VERBOSE ValuesView WRAPPER_ASSIGNMENTS WRAPPER_UPDATES X abiflags accumulate acos acosh add
  addaudithook and_ api_version argv ascii_letters ascii_lowercase ascii_uppercase asin asinh assert_never assert_type atan atan2
  atanh attrgetter audit base_exec_prefix base_prefix betavariate bisect_left bisect_right breakpointhook builtin_module_names
  byteorder cache cached_property call call_tracing capwords cast cbrt ceil chain choice choices clear_overloads cmp_to_key comb
  combinations combinations_with_replacement compress concat contains copysign correlation cos cosh count countOf covariance cycle
  dataclass_transform date deepcopy defaultdict degrees delitem deque digits displayhook dist dont_write_bytecode dropwhile dump
  dumps e eq erf erfc error escape exc_info excepthook exception exec_prefix executable exp exp2 expm1 expovariate fabs factorial
  filterfalse final findall finditer flags float_info float_repr_style floor floordiv fmean fmod frexp fsum fullmatch gamma
  gammavariate gauss gcd ge geometric_mean get_args get_asyncgen_hooks get_coroutine_origin_tracking_depth get_int_max_str_digits
  get_origin get_overloads get_type_hints getallocatedblocks getdefaultencoding getdlopenflags getfilesystemencodeerrors
  getfilesystemencoding getitem getprofile getrandbits getrecursionlimit getrefcount getsizeof getstate getswitchinterval gettrace
  groupby gt harmonic_mean hash_info heapify heappop heappush heappushpop heapreplace hexdigits hexversion hypot iadd iand iconcat
  ifloordiv ilshift imatmul imod implementation imul index indexOf inf insort insort_left insort_right int_info intern inv invert
  ior ipow irshift is_ is_finalizing is_not is_typeddict isclose isfinite isinf islice isnan isqrt isub itemgetter itruediv ixor
  lcm ldexp le length_hint lgamma linear_regression load loads log log10 log1p log2 lognormvariate lru_cache lshift lt match
  matmul maxsize maxunicode mean median median_grouped median_high median_low merge meta_path methodcaller mod mode modf modules
  mul multimode namedtuple nan ne neg nextafter nlargest no_type_check no_type_check_decorator normalvariate not_ nsmallest
  octdigits open_code or_ orig_argv overload pairwise paretovariate partial partialmethod path path_hooks path_importer_cache perm
  permutations pi platform platlibdir pos prefix printable prod product pstdev punctuation purge pvariance pycache_prefix
  quantiles radians randbytes randint randrange reduce remainder repeat reveal_type rshift runtime_checkable sample search seed
  set_asyncgen_hooks set_coroutine_origin_tracking_depth set_int_max_str_digits setdlopenflags setitem setprofile
  setrecursionlimit setstate setswitchinterval settrace shuffle sin singledispatch singledispatchmethod sinh split sqrt starmap
  stderr stdev stdin stdlib_module_names stdout sub subn takewhile tan tanh tau tee template text_encoding thread_info timedelta
  timezone total_ordering triangular truediv trunc truth tzinfo ulp uniform unraisablehook update_wrapper variance version
  version_info vonmisesvariate warnoptions weibullvariate whitespace wraps xor zip_longest
`)

/** What values of Python's own types have, such as a text's \`strip\`. */
export const plainMembers = words(`
  add adjusted append appendleft as_integer_ratio as_tuple astimezone bit_count bit_length canonical capitalize casefold center
  clear combine compare compare_signal compare_total compare_total_mag conjugate copy copy_abs copy_negate copy_sign count ctime
  date day days decode denominator difference difference_update discard dst encode endswith exp expandtabs extend extendleft find
  fma fold format format_map from_bytes from_decimal from_float fromhex fromisocalendar fromisoformat fromkeys fromordinal
  fromtimestamp get hex hour imag index insert intersection intersection_update is_canonical is_finite is_infinite is_integer
  is_nan is_normal is_qnan is_signed is_snan is_subnormal is_zero isalnum isalpha isascii isdecimal isdigit isdisjoint
  isidentifier islower isnumeric isocalendar isoformat isoweekday isprintable isspace issubset issuperset istitle isupper items
  join keys limit_denominator ljust ln log10 logb logical_and logical_invert logical_or logical_xor lower lstrip maketrans max
  max_mag maxlen microsecond microseconds min min_mag minute month next_minus next_plus next_toward normalize now number_class
  numerator partition pop popitem popleft quantize radix real remainder_near remove removeprefix removesuffix replace resolution
  reverse rfind rindex rjust rotate rpartition rsplit rstrip same_quantum scaleb second seconds setdefault shift sort split
  splitlines sqrt start startswith step stop strftime strip strptime swapcase symmetric_difference symmetric_difference_update
  time timestamp timetuple timetz title to_bytes to_eng_string to_integral to_integral_exact to_integral_value today toordinal
  total_seconds translate tzinfo tzname union update upper utcfromtimestamp utcnow utcoffset utctimetuple values weekday year
  zfill
`)
