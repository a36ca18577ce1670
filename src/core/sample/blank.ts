/** What anybody sees: no blanks, controls, halves of surrogates, or characters that are drawn as nothing. */
const seen = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\u2800\ufff9-\ufffc]/u

/** True for a text in which there is nothing to read: it is empty, or white space and invisible characters only. */
export function isBlank(text: string): boolean {
  const first = text.charCodeAt(0)
  // Most texts begin with a letter.
  return !(first > 0x20 && first < 0x7f) && !seen.test(text)
}

/** Where an image or another medium stands in a prompt's text. */
const placeholder =
  /<(?:image|img|video|audio|start_of_image|end_of_image)>|<\|(?:vision|image|img|video|audio)[a-z_\d]{0,24}\|>|\[IMG\]/g
/** Longer texts have words in them. */
const longest = 512

/** True for a text that says nothing: it is blank, or holds places of images only. */
export function isWordless(text: string): boolean {
  if (isBlank(text)) return true
  const first = text[0] ?? ''
  if (text.length > longest || (first > ' ' && first < '\x7f' && first !== '<' && first !== '[')) return false
  return isBlank(text.replace(placeholder, ''))
}
