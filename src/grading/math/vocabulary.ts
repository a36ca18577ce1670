const words = (text: string): string[] => text.split(' ')

const table = (entries: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(entries).flatMap(([to, from]) => words(from).map((name) => [name, to] as const)))

/** LaTeX commands that stand for one sign. */
export const signCommands = table({
  '*': 'cdot times ast bullet',
  '/': 'div',
  '+-': 'pm',
  '-+': 'mp',
  '<=': 'le leq leqslant leqq',
  '>=': 'ge geq geqslant geqq',
  '<': 'lt',
  '>': 'gt',
  '!=': 'ne neq',
  '=': 'equiv',
  '~': 'approx sim simeq approxeq cong doteq',
  in: 'in',
  to: 'to rightarrow mapsto longrightarrow',
  union: 'cup bigcup sqcup',
  intersection: 'cap bigcap',
  difference: 'setminus backslash smallsetminus',
  'set{': 'lbrace',
  'set}': 'rbrace',
  '(': 'langle lparen',
  ')': 'rangle rparen',
  '[': 'lbrack',
  ']': 'rbrack',
  '|': 'mid vert lvert rvert Vert lVert rVert',
  'floor(': 'lfloor',
  'floor)': 'rfloor',
  'ceil(': 'lceil',
  'ceil)': 'rceil',
  degree: 'circ degree degrees',
  ':': 'colon',
  and: 'land lor wedge vee',
  "'": 'prime',
})

/** Commands that only change the look of what follows. */
export const styleCommands: ReadonlySet<string> = new Set(
  words(
    'left right middle big Big bigg Bigg bigl bigr Bigl Bigr biggl biggr Biggl Biggr displaystyle textstyle ' +
      'scriptstyle limits nolimits quad qquad enspace thinspace mathbf mathit mathsf mathtt mathcal mathfrak mathscr ' +
      'boldsymbol bm pmb boxed ' +
      'fbox ensuremath mathop mathord mathbin mathrel nobreak allowbreak rm bf it tt sf cal normalfont ' +
      'small large Large normalsize therefore because implies Rightarrow Longrightarrow hline',
  ),
)

/** Marks over or under a name, which then is another name. `AB` stays the same, and so does a unit vector. */
export const accents: ReadonlyMap<string, string> = table({
  bar: 'bar overline',
  hat: 'hat widehat',
  tilde: 'tilde widetilde',
  dot: 'dot',
  underline: 'underline',
  vec: 'vec overrightarrow overleftarrow',
})

/** Commands whose argument is prose. */
export const proseCommands: ReadonlySet<string> = new Set(
  words(
    'text mbox textnormal textrm textit textbf textsf texttt textup hbox emph mathrm operatorname unit si',
  ),
)

/** Functions of one argument that are also written without brackets. */
export const functionNames: ReadonlySet<string> = new Set(
  words(
    'sin cos tan cot sec csc arcsin arccos arctan arccot sinh cosh tanh coth ln log lg exp sqrt cbrt abs ' +
      'gcd lcm min max floor ceil Re Im arg det',
  ),
)

/** Alternative spellings of functions and constants, in LaTeX or plain text. */
export const synonyms: ReadonlyMap<string, string> = new Map([
  ...table({
    cot: 'ctg cotg',
    tan: 'tg',
    arcsin: 'asin',
    arccos: 'acos',
    arctan: 'atan arctg',
    csc: 'cosec',
    sinh: 'sh',
    cosh: 'ch',
    tanh: 'th',
    infinity: 'infty inf oo infinity Infinity',
    emptyset: 'varnothing',
    epsilon: 'varepsilon',
    theta: 'vartheta',
    phi: 'varphi',
    rho: 'varrho',
    frac: 'dfrac tfrac cfrac',
    binom: 'dbinom tbinom',
  }),
])

/** Greek letters and other names that are one symbol. */
export const symbolNames: ReadonlySet<string> = new Set(
  words(
    'alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron rho sigma tau upsilon phi chi ' +
      'psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell hbar aleph nabla partial triangle ' +
      'angle star infinity emptyset pi',
  ),
)

/** Plain words that are read as signs. */
export const signWords = table({
  and: 'and or And Or AND OR und oder et 和 或 и или',
  '%': 'percent pct percentage Percent',
  degree: 'degrees degree deg Degrees',
  union: 'union',
  '=': 'equals',
})

/** Short words of prose that are not products of variables. */
export const shortWords: ReadonlySet<string> = new Set(
  words(
    'the The is Is are was not Not for its has one two six ten yes Yes no No of at by it It so So we We NaN nan nil ' +
      'Nil all any But but can how let Let now per out see thus top the who why you an An as be if If my My on pm am ' +
      'odd Odd All One Two red Red big day top sum Sum box old new',
  ),
)

/** Non-ASCII characters and their LaTeX. */
export const characters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '−': '-',
    '–': '-',
    '—': '-',
    '×': '\\times ',
    '·': '\\cdot ',
    '⋅': '\\cdot ',
    '∙': '\\cdot ',
    '÷': '\\div ',
    '∕': '/',
    '⁄': '/',
    '√': '\\sqrt ',
    π: '\\pi ',
    '∞': '\\infty ',
    '≤': '\\le ',
    '≥': '\\ge ',
    '⩽': '\\le ',
    '⩾': '\\ge ',
    '≠': '\\ne ',
    '≈': '\\approx ',
    '±': '\\pm ',
    '∓': '\\mp ',
    '∪': '\\cup ',
    '∩': '\\cap ',
    '∖': '\\setminus ',
    '∈': '\\in ',
    '∅': '\\emptyset ',
    ℝ: '\\mathbb{R}',
    '→': '\\to ',
    '°': '^\\circ ',
    '∛': '\\sqrt[3]',
    '∉': '\\notin ',
    '≡': '\\equiv ',
    '⟨': '\\langle ',
    '⟩': '\\rangle ',
    ℤ: '\\mathbb{Z}',
    ℚ: '\\mathbb{Q}',
    ℕ: '\\mathbb{N}',
    ℂ: '\\mathbb{C}',
    '½': '\\frac12 ',
    '¼': '\\frac14 ',
    '¾': '\\frac34 ',
    '⅓': '\\frac13 ',
    '⅔': '\\frac23 ',
    '⅕': '\\frac15 ',
    '⅖': '\\frac25 ',
    '⅗': '\\frac35 ',
    '⅘': '\\frac45 ',
    '⅙': '\\frac16 ',
    '⅚': '\\frac56 ',
    '⅛': '\\frac18 ',
    '⅜': '\\frac38 ',
    '⅝': '\\frac58 ',
    '⅞': '\\frac78 ',
    α: '\\alpha ',
    β: '\\beta ',
    γ: '\\gamma ',
    δ: '\\delta ',
    ε: '\\epsilon ',
    θ: '\\theta ',
    λ: '\\lambda ',
    μ: '\\mu ',
    ρ: '\\rho ',
    σ: '\\sigma ',
    τ: '\\tau ',
    φ: '\\phi ',
    ψ: '\\psi ',
    ω: '\\omega ',
    Δ: '\\Delta ',
    Ω: '\\Omega ',
    '、': ', ',
    '。': '.',
    '\u00a0': ' ',
    '\u2009': ' ',
    '\u202f': ' ',
    '′': "'",
    '“': '',
    '”': '',
  }),
)
