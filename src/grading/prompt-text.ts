/** A prompt as one text: the contents of its messages, a line apart. */
export function promptText(prompt: string | readonly { readonly content: string }[]): string {
  return typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content).join('\n')
}
