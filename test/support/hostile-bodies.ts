/** Bodies of some megabytes in which one thing repeats. */
export const hostileBodies = (bytes: number): Record<string, string> => {
  const fill = (piece: string, part = 1): string => piece.repeat((part * bytes) / piece.length)
  const rows = (piece: string): string => `{"samples":[${fill(`${piece},`)}${piece}]}`
  const row = `{"response":"x","ground_truth":[${'[],'.repeat(15_000)}[]]}`
  const wide = Array.from({ length: 20_000 }, (_, i) => `"${i.toString(36)}":1`)
  return {
    'a NaN a row': rows(`{"response":"${'x'.repeat(400)}","ground_truth":NaN}`),
    'NaN and nothing else': `{"samples":[{"a":[${fill('NaN,')}1]}]}`,
    'rows of 15,000 lists': rows(row),
    'rows of 20,000 names': rows(`{${wide.join(',')}}`),
    'lists in one row': `{"samples":[{"a":[${fill('[],')}1]}]}`,
    'objects in one row': `{"samples":[{"a":[${fill('{},')}1]}]}`,
    'numbers outside': `{"a":[${fill('1,')}1]}`,
    'fractions outside': `{"a":[${fill('-0.12345678901234567,')}1]}`,
    'depth in a row': `{"samples":[${fill('[', 0.5)}${fill(']', 0.5)}]}`,
    'depth of many rows': rows(`{"a":${'['.repeat(500)}${']'.repeat(500)}}`),
    digits: `{"samples":[{"ground_truth":${fill('7')}}]}`,
    'digits of a fraction': `{"samples":[{"ground_truth":0.${fill('7')}}]}`,
    'long integers': `{"samples":[{"a":[${fill('12345678901234567890,')}1]}]}`,
    escapes: `{"samples":[{"response":"${fill('\\"')}"}]}`,
    'escapes of six': `{"samples":[{"response":"${fill('\\u00e9')}"}]}`,
    backslashes: `{"samples":[{"response":"${fill('\\\\')}"}]}`,
    'a long name': `{"samples":[{"${fill('a')}":[NaN,NaN,{"b":NaN}]}]}`,
    'long lists below a long name': `{"${fill('a', 0.5)}":[${fill(`[${'1,'.repeat(600)}1],`, 0.5)}1]}`,
    'white space': `{"samples":[${fill(' ')}1]}`,
    'a wide text': `{"samples":[{"response":"${'😀'.repeat(bytes / 4)}"}]}`,
    'no end': `{"samples":[{"response":"${fill('x\\"')}`,
    'a wrong end': `{"samples":[${fill('{"a":1},')}`,
    'ends of rows': `{"samples":[{"a":"${fill('},{\\"')}`,
  }
}
