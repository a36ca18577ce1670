/** The words that Qwen2.5-Math's grader (MIT licence) takes for units, in its order; each is a pattern: `.` is any character. */
const names = (
  'east|degree|mph|kmph|ft|m sqaure| m east|sq m|deg|mile|q .|monkey|prime|ratio|profit of rs|rd|o|' +
  'gm|p . m|lb|tile|per|dm|lt|gain|ab|way|west|a .|b .|c .|d .|e .|f .|g .|h .|t|a|h|no change|men|' +
  'soldier|pie|bc|excess|st|inches|noon|percent|by|gal|kmh|c|acre|rise|a . m|th|π r 2|sq|mark|l|' +
  'toy|coin|sq . m|gallon|° f|profit|minw|yr|women|feet|am|pm|hr|cu cm|square|v â € ™|are|rupee|' +
  'rounds|cubic|cc|mtr|s|ohm|number|kmph|day|hour|minute|min|second|man|woman|sec|cube|mt|sq inch|' +
  'mp|∏ cm ³|hectare|more|sec|unit|cu . m|cm 2|rs .|rs|kg|g|month|km|m|cm|mm|apple|liter|loss|yard|' +
  'pure|year|increase|decrease|d|less|Surface|litre|pi sq m|s .|metre|meter|inch'
).split('|')

const border = '[^\\p{L}\\p{N}_]'
const units = [...names, ...names.map((name) => `${name}s`)]
const anyUnit = new RegExp(`(?:^|${border})(?:${units.join('|')})(?:$|${border})`, 'su')
const patterns = units.map((unit) => new RegExp(`(^|${border})${unit}($|${border})`, 'gsu'))

/** Takes each unit away wherever it stands alone, twice over the list, except where nothing would be left. */
export function withoutUnits(text: string): string {
  let left = text
  if (!anyUnit.test(left)) return left
  for (let turn = 0; turn < 2; turn++) {
    for (const pattern of patterns) left = left.replace(pattern, '$1$2') || left
  }
  return left
}
