const beyond = /[^\0-\x7f]/

/** By character code below 128: 1 for what a pattern of one character matches. */
export const asciiTable = (pattern: RegExp): Uint8Array =>
  Uint8Array.from({ length: 128 }, (_, code) => Number(pattern.test(String.fromCharCode(code))))

/** The first characters of most texts that are not ASCII tell. */
const beginning = 256

/** Whether a text is ASCII, as most answers are: a search for one character is many times quicker than a pattern there. */
export const isAscii = (text: string): boolean =>
  !beyond.test(text.slice(0, beginning)) && Buffer.byteLength(text) === text.length
