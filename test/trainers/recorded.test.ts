import t from 'tap'
import { type Kept, keptOf, recordedRequests, sampleOf } from './recorded.ts'

const call = 'zoom({"at":[1,2]})'
const whole: Kept = {
  turns: 3,
  calls: [call],
  results: ['a red square'],
  reasoning: true,
  images: { prompt: 'bytes', results: null },
}
const oneText = { turns: 1, calls: [], results: [], reasoning: false }
const everywhere = { prompt: 'bytes', results: 'bytes' } as const

/** What each trainer's own code carries of the same rollout. */
const expected: Readonly<Record<string, Kept>> = {
  'eval-protocol': whole,
  'llama-factory': { ...oneText, images: { prompt: 'places', results: null } },
  miles: { ...oneText, images: { prompt: 'bytes', results: null } },
  // The call is written in the text of the turn.
  'ms-swift': { ...oneText, turns: 3, images: { prompt: 'bytes', results: null } },
  'nemo-gym': whole,
  openrlhf: { ...oneText, images: { prompt: 'places', results: null } },
  skyrl: { ...oneText, images: { prompt: null, results: null } },
  slime: { ...oneText, images: { prompt: 'bytes', results: null } },
  tinker: whole,
  trl: { ...whole, reasoning: false, images: everywhere },
  verifiers: { ...whole, images: everywhere },
  verl: { ...whole, reasoning: false },
  'verl-without-mask': { ...oneText, images: { prompt: 'bytes', results: null } },
}

t.test("what trainers' own code sends arrives whole", async (t) => {
  const requests = recordedRequests()
  t.strictSame(requests.map(({ name }) => name).sort(), Object.keys(expected).sort())
  for (const request of requests) {
    const sample = await sampleOf(request)
    t.strictSame(keptOf(sample), expected[request.name], request.name)
    t.equal(sample.groundTruth, request.name === 'llama-factory' ? null : 'red', request.name)
    t.match(sample.response, /It is red\.$/, request.name)
    const isWhole = ['verl-without-mask', 'miles', 'slime'].includes(request.name)
    t.equal(sample.response.includes('zoom'), isWhole, request.name)
    // Only verl says how many turns its text holds.
    if (isWhole) t.equal(sample.flags?.join(), request.name.startsWith('verl') ? 'turns_unknown' : undefined)
  }
})
