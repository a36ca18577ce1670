const families: Readonly<Record<string, string>> = {
  m: 'metre meter metres meters',
  cm: 'centimetre centimeter centimetres centimeters',
  mm: 'millimetre millimeter millimetres millimeters',
  km: 'kilometre kilometer kilometres kilometers kms',
  in: 'inch inches',
  ft: 'foot feet',
  yd: 'yard yards yds',
  mi: 'mile miles',
  g: 'gram grams gm',
  kg: 'kilogram kilograms kgs',
  mg: 'milligram milligrams',
  lb: 'pound pounds lbs',
  oz: 'ounce ounces',
  L: 'litre liter litres liters',
  mL: 'millilitre milliliter millilitres milliliters ml',
  s: 'second seconds sec secs',
  min: 'minute minutes mins',
  h: 'hour hours hr hrs',
  day: 'days',
  week: 'weeks',
  month: 'months',
  year: 'years yr yrs',
  dollar: 'dollars usd USD bucks',
  cent: 'cents',
  euro: 'euros EUR',
  yuan: 'RMB',
  mph: 'mi/h',
  'km/h': 'kmh kph',
  'm/s': 'mps',
  degree: 'degrees deg',
  rad: 'radian radians',
  N: 'newton newtons',
  J: 'joule joules',
  W: 'watt watts',
  Hz: 'hertz',
  am: 'a.m AM',
  pm: 'p.m PM',
}

const canonical: ReadonlyMap<string, string> = new Map(
  Object.entries(families).flatMap(([unit, spellings]) =>
    [unit, ...spellings.split(' ')].map((spelling) => [spelling, unit] as const),
  ),
)

/** True for a word of two letters or more that is a unit of measure. */
export function isUnit(word: string): boolean {
  return canonical.has(word) && word !== 'min'
}

/** One spelling for the spellings of a unit; null: not in the table, so nothing is known about it. */
export function canonicalUnit(written: string): string | null {
  const compact = written.replace(/[\s{}\\]/g, '').replace(/(?<=\w)\.(?!\w)/g, '')
  const [, word = '', exponent = ''] = /^(?:square|cubic)?(.*?)(?:\^?([23]))?$/.exec(compact) ?? []
  const unit = canonical.get(word) ?? canonical.get(word.toLowerCase())
  if (unit === undefined) return null
  const power = exponent || (compact.startsWith('square') ? '2' : compact.startsWith('cubic') ? '3' : '')
  return unit + power
}
