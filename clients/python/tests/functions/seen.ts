import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'

/** 1, with the hashes of the images of its prompt. */
export default defineRule({
  truth: z.unknown(),
  range: [0, 1],
  score({ sample }) {
    const messages = typeof sample.prompt === 'string' ? [] : sample.prompt
    const images = messages.flatMap(({ parts = [] }) => parts.filter(({ type }) => type === 'image'))
    return { value: 1, details: { hashes: images.map((one) => ('sha256' in one ? one.sha256 : '')) } }
  },
})
