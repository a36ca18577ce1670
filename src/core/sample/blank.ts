/** Any visible character: no white space, control, lone surrogate, or character that renders as nothing. */
const seen = /[^\s\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cs}\u2800\ufff9-\ufffc]/u

/** True for a text that is empty or has only white space and invisible characters. */
export function isBlank(text: string): boolean {
  const first = text.charCodeAt(0)
  // Fast path: most texts start with a visible ASCII character.
  return !(first > 0x20 && first < 0x7f) && !seen.test(text)
}

/** Placeholders for images and other media in prompts. */
const placeholder =
  /<(?:image|img|video|audio|start_of_image|end_of_image)>|<\|(?:vision|image|img|video|audio)[a-z_\d]{0,24}\|>|\[IMG\]/g
/** Longer texts always contain words. */
const longest = 512

/** True for a text that is blank or holds only image placeholders. */
export function isWordless(text: string): boolean {
  if (isBlank(text)) return true
  const first = text[0] ?? ''
  if (text.length > longest || (first > ' ' && first < '\x7f' && first !== '<' && first !== '[')) return false
  return isBlank(text.replace(placeholder, ''))
}
