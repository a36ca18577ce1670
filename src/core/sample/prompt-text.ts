import type { Message } from './sample.ts'

/** A prompt as one text: what its turns say, without their roles, a line apart. */
export const promptText = (prompt: string | readonly Message[]): string =>
  typeof prompt === 'string' ? prompt : prompt.map(({ content }) => content).join('\n')
