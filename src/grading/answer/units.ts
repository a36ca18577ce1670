/** Units of measure by their names and signs, and quantities in them: `3 days and 8 hours`, `240 kJ`, `72 km/h`. */

/** One reading of a unit's name. Units of one `kind` exclude each other; those with one `base` convert by `factor`. */
export interface Unit {
  readonly kind: string
  readonly base: string
  /** What the unit is in units of its base. */
  readonly factor: number
}

/** Lines of `kind base factor names`. */
const table = `
money usd 100 dollar dollars usd buck bucks $ us$
money usd 1 cent cents ¢ penny pennies
money eur 100 euro euros eur €
money gbp 100 pound pounds gbp £
money inr 1 rupee rupees rs inr ₹
money jpy 1 yen jpy ¥ yuan cny rmb
time time 1 s sec secs second seconds segundo segundos sekunde sekunden seconde secondes
time time 60 min mins minute minutes minuto minutos minuten
time time 3600 h hr hrs hour hours hora horas stunde stunden heure heures ora ore
time time 86400 d day days día días dia dias tag tage tagen jour jours giorno giorni
time time 604800 week weeks wk wks semana semanas woche wochen semaine semaines
time years 1 month months
time years 12 year years yr yrs
time years 120 decade decades
length length 0.001 millimeter millimeters millimetre millimetres mm milímetros millimètres millimetri
length length 0.01 centimeter centimeters centimetre centimetres cm zentimeter centímetro centímetros centimètre centimètres centimetri
length length 0.1 decimeter decimeters decimetre decimetres dm
length length 1 meter meters metre metres m metern metro metros mètre mètres metri
length length 1000 kilometer kilometers kilometre kilometres km kms kilometern kilometro kilometros kilómetro kilómetros quilômetro quilômetros quilómetro quilómetros kilomètre kilomètres chilometro chilometri
length length 0.0254 inch inches in
length length 0.3048 foot feet ft
length length 0.9144 yard yards yd yds
length length 1609.344 mile miles mi
temperature celsius 1 celsius
temperature fahrenheit 1 fahrenheit
temperature kelvin 1 kelvin
resistance resistance 1 ohm ohms ω
angle angle 1 degree degrees ° deg
angle angle 57.29577951308232 radian radians rad
mass mass 0.001 milligram milligrams mg
mass mass 1 gram grams g gramo gramos gramm gramme grammes grammi gramas
mass mass 1000 kilogram kilograms kg kgs kilo kilos kilogramm kilogramo kilogramos kilogramme kilogrammes quilogramas quilo quilos chilogrammi chili
mass mass 1000000 ton tons tonne tonnes
mass mass 28.349523125 ounce ounces oz
mass mass 453.59237 pound pounds lb lbs
volume volume 1 milliliter milliliters millilitre millilitres ml cc
volume volume 10 centiliter centiliters centilitre centilitres cl
volume volume 100 deciliter deciliters decilitre decilitres dl
volume volume 1000 liter liters litre litres l litern litro litros litri
volume volume 3785.411784 gallon gallons gal
volume volume 946.352946 quart quarts qt
volume volume 473.176473 pint pints pt
volume volume 236.5882365 cup cups
volume volume 14.78676478125 tablespoon tablespoons tbsp
volume volume 4.92892159375 teaspoon teaspoons tsp
volume volume 29.5735295625 ounce ounces oz
energy energy 1 joule joules j
energy energy 1000 kilojoule kilojoules kj
energy energy 1000000 megajoule megajoules mj
energy energy 4.184 calorie calories cal
energy energy 4184 kilocalorie kilocalories kcal
energy energy 3600 wh
energy energy 3600000 kwh
power power 1 watt watts w
power power 1000 kilowatt kilowatts kw
power power 1000000 megawatt megawatts mw
voltage voltage 1 volt volts v
voltage voltage 1000 kilovolt kilovolts kv
voltage voltage 0.001 millivolt millivolts mv
current current 1 ampere amperes amp amps
current current 0.001 milliampere milliamperes ma
force force 1 newton newtons n
force force 1000 kilonewton kilonewtons kn
pressure pressure 1 pascal pascals pa
pressure pressure 1000 kilopascal kilopascals kpa
frequency frequency 1 hertz hz
frequency frequency 1000 kilohertz khz
frequency frequency 1000000 megahertz mhz
area area 1 sqm
area area 10000 hectare hectares ha
area area 4046.8564224 acre acres
speed length/time 0.44704 mph
speed length/time 0.2777777777777778 kph kmh`

const readings = new Map<string, Unit[]>()
for (const line of table.trim().split('\n')) {
  const [kind = '', base = '', factor = '', ...names] = line.split(' ')
  for (const name of names)
    readings.set(name, [...(readings.get(name) ?? []), { kind, base, factor: Number(factor) }])
}

const scales: Readonly<Record<string, string>> = { C: 'celsius', F: 'fahrenheit' }

/** A text with the names of the scales for `°C` and `°F`. */
export const withScales = (text: string): string =>
  text.includes('°') ? text.replace(/°\s?([CF])(?!\p{L})/gu, (_, scale: string) => ` ${scales[scale]}`) : text

/** What a word or a sign may mean as a unit, in lower case. Empty: no unit. */
export const unitsOf = (name: string): readonly Unit[] => readings.get(name) ?? []

export const areSame = (a: Unit, b: Unit): boolean => a.base === b.base && a.factor === b.factor

/** One name for all spellings of a unit, so that `km` and `kilometers` are the same word. Other words stay. */
export function unitName(word: string): string {
  const [unit] = unitsOf(word)
  return unit === undefined || word === 'in' ? word : `${unit.base} ${unit.factor}`
}

const powers: Readonly<Record<string, number>> = {
  '²': 2,
  '2': 2,
  '³': 3,
  '3': 3,
  square: 2,
  sq: 2,
  cubic: 3,
}
const spelled =
  /^\s?(?:(square|sq\.?|cubic)\s)?(\p{L}{1,14}|[$¢€£¥₹°])(?:\^?([23²³])(?!\d))?(?:\s?(?:\/|per\s)\s?(\p{L}{1,10}))?(?![\p{L}\d])/iu

/** The readings of the unit that a text starts with, and its length: `km/h`, `square meters`. */
export function unitAt(text: string): { readonly units: readonly Unit[]; readonly length: number } {
  const [all = '', before, word = '', after, under] = spelled.exec(text) ?? []
  const power = powers[(before ?? after ?? '').toLowerCase().replace('.', '')] ?? 1
  const own = unitsOf(word.toLowerCase())
  const divisors = under === undefined ? null : unitsOf(under.toLowerCase())
  const units = own.flatMap((unit): Unit[] => {
    const { base, kind } = unit
    const raised =
      power === 1
        ? unit
        : base !== 'length'
          ? null
          : power === 2
            ? { kind: 'area', base: 'area', factor: unit.factor ** 2 }
            : { kind: 'volume', base: 'volume', factor: unit.factor ** 3 * 1e6 }
    if (raised === null || divisors === null) return raised === null ? [] : [raised]
    return divisors.map((divisor) => ({
      kind: `${kind}/${divisor.kind}`,
      base: `${raised.base}/${divisor.base}`,
      factor: raised.factor / divisor.factor,
    }))
  })
  return { units, length: units.length === 0 ? 0 : all.length }
}

interface Quantity {
  /** Its size in each base that its units may have. */
  readonly sums: ReadonlyMap<string, number>
  readonly units: readonly Unit[]
  /** Half of what its last digit is worth. */
  readonly rounding: number
  readonly length: number
}

const amount = /^\s?([$€£]?)(\d{1,3}(?:,\d{3})+|\d{1,15})(\.\d{1,12})?/u
const joined = /^(?:,\s(?:and\s)?|\s(?:and\s|&\s)?)(?=\d)/

/** A quantity at the start of a text, which may be in several units: `3 days and 8 hours`. null: a number without a unit. */
function quantityAt(text: string): Quantity | null {
  const sums = new Map<string, number>()
  const named: Unit[] = []
  let at = 0
  let rounding = 0
  for (let parts = 0; parts < 4; parts++) {
    const gap = parts === 0 ? 0 : (joined.exec(text.slice(at))?.[0].length ?? -1)
    if (gap < 0) break
    const [all = '', sign = '', whole = '', places = ''] = amount.exec(text.slice(at + gap)) ?? []
    if (whole === '') break
    const after = at + gap + all.length
    const { units, length } = sign === '' ? unitAt(text.slice(after)) : { units: unitsOf(sign), length: 0 }
    const found = parts === 0 ? units : units.filter(({ base }) => sums.has(base))
    if (found.length === 0) break
    named.push(...found)
    const value = Number(`${whole.replaceAll(',', '')}${places}`)
    for (const { base, factor } of found) sums.set(base, (sums.get(base) ?? 0) + value * factor)
    // A whole number of one digit is exact.
    const isExact = places === '' && whole.length < 2
    const shown = Math.max(...found.map(({ factor }) => factor)) * 10 ** -Math.max(places.length - 1, 0)
    rounding = isExact ? 0 : shown / 2
    at = after + length
  }
  return at === 0 ? null : { sums, units: named, rounding, length: at }
}

const introduced =
  /(?:\s?[([–—]\s?|,\s|\s)(?:(?:or|and|i\.?e\.?,?|that(?:\s+is|['’]s),?|which\s+(?:is|equals|makes|comes\s+to)|equivalent\s+to|equivalently,?|also|namely|equals|=|the\s+same\s+as|in\s+other\s+words,?)\s+){0,3}=?\s?((?:exactly|precisely|(?:just\s+|a\s+(?:little|bit)\s+)?(?:over|under)|more\s+than|less\s+than|slightly\s+(?:over|under|more\s+than|less\s+than)|about|approximately|approx\.?|around|roughly|nearly|almost|some|circa|≈|~)\s?){0,2}(?=[$€£]?\d)/giu
const roughly = /\p{L}|[≈~]/u
const longest = 300

/**
 * The text behind a number without the same quantity in other units: ` hours (3 days and 8 hours)` behind 80. What comes
 * to another value stays, and so does what is in the units that the question asks for. `own`: the units of the number, if
 * the text does not name them. Linear.
 */
export function withoutRestatement(
  rest: string,
  value: number,
  own: readonly Unit[],
  question: string,
): string {
  const near = rest.slice(0, longest)
  if (!/\d/.test(near)) return rest
  const asked = askedUnits(question)
  const named = unitAt(near).units
  const units = named.length > 0 ? named : own.length > 0 ? own : asked
  if (units.length === 0) return rest
  const isAsked = (unit: Unit): boolean => asked.some((one) => areSame(one, unit))
  const wantsOther = asked.length > 0 && !units.some(isAsked)
  for (const { index, 0: lead, 1: about = '' } of near.matchAll(introduced)) {
    const start = index + lead.length
    const found = quantityAt(near.slice(start))
    if (found === null || lead.trim() === '' || (wantsOther && found.units.some(isAsked))) continue
    if (!isSame(found, value, units, about)) continue
    const end = start + found.length
    const closing = /[([]/.test(lead) ? /^[^()[\]]{0,60}?[)\]]/ : /[—–]/.test(lead) ? /^\s?[—–]/ : null
    const close = closing?.exec(near.slice(end))?.[0].length ?? 0
    return `${rest.slice(0, index)}${rest.slice(end + close)}`
  }
  return rest
}

/** Whether a quantity is so many of one of the units. `about`: the words before it. */
const isSame = (found: Quantity, value: number, units: readonly Unit[], about: string): boolean =>
  units.some(({ base, factor }) => {
    const other = found.sums.get(base)
    if (other === undefined) return false
    const off = Math.abs(other - value * factor)
    const isRough = roughly.test(about) && !/^(?:exactly|precisely)/i.test(about)
    return off <= Math.max(1e-9 * Math.abs(other), isRough ? 0.15 * Math.abs(other) : found.rounding)
  })

/**
 * Where the text behind a number gives the same quantity in the units that the question asks for, and the number does
 * not: ` hectares, or 900 m²` behind 0.09. null: it does not.
 */
export function restatedAsAsked(rest: string, value: number, question: string): number | null {
  const near = rest.slice(0, longest)
  if (!/\d/.test(near)) return null
  const { units } = unitAt(near)
  const asked = askedUnits(question)
  const isAsked = (unit: Unit): boolean => asked.some((one) => areSame(one, unit))
  if (units.length === 0 || units.some(isAsked)) return null
  for (const { index, 0: lead, 1: about = '' } of near.matchAll(introduced)) {
    const found = quantityAt(near.slice(index + lead.length))
    if (found?.units.some(isAsked) && isSame(found, value, units, about)) return index + lead.length
  }
  return null
}

const askedIn =
  /\bhow\s+(?:many|much)\s+|\b(?:in|en|total|whole|of)\s+|\b(?:wie\s+viele|cuánt[oa]s|combien\s+d['’e]\s?|quant[ei])\s+/giu

/** Answers to one question come together. */
let latest: { readonly question: string; readonly units: readonly Unit[] } = { question: '', units: [] }

/** The units in which a question asks for its answer. */
export function askedUnits(question: string): readonly Unit[] {
  if (latest.question !== question) {
    const near = question.slice(-400)
    const found = Array.from(near.matchAll(askedIn), ({ index, 0: lead }) =>
      unitAt(near.slice(index + lead.length)),
    ).find(({ units, length }) => units.length > 0 && length > 1)
    latest = { question, units: found?.units ?? [] }
  }
  return latest.units
}
