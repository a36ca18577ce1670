import { dataUrl, imagePart, paddedPng, png, sha256 } from '../support/images.ts'
import { type Attack, bodyBytes } from './bodies.ts'

const request = (samples: readonly object[], more: object = {}): Buffer =>
  Buffer.from(JSON.stringify({ reward: 'judged', ...more, samples }))

const row = (...parts: object[]): object => ({
  prompt: [{ role: 'user', content: [...parts, { type: 'text', text: 'q' }] }],
  response: 'an answer',
})

const url = (width: number, height: number, bytes: number, salt = 0): string =>
  dataUrl(paddedPng(width, height, bytes, salt))

/** Decoded bytes of an image whose data URL fills most of a body. */
const largest = Math.floor((bodyBytes * 3) / 4) - 4096

/** Each of `count` rows has this outcome: the kind of its failure, or its reward. */
const allAre = (count: number, outcome: string | number) => (text: string) => {
  const { results } = JSON.parse(text) as {
    results: { reward: number | null; failure: { kind: string; detail: string } | null }[]
  }
  const odd = results.find(({ reward, failure }) => (failure?.kind ?? reward) !== outcome)
  if (results.length !== count || odd) throw new Error(`${results.length} rows, ${JSON.stringify(odd)}`)
}

/** A JPEG of nothing but empty segments. */
const endlessJpeg = Buffer.concat([
  Buffer.from('ffd8ff', 'hex'),
  Buffer.from('ee0002ff'.repeat(750_000), 'hex'),
])

const small = png(8, 8)
const common = paddedPng(512, 512, 300_000)

/** Rows with images, for a judge that is asked with those that fit. */
export const imageAttacks: readonly Attack[] = [
  {
    name: 'an image of 12 MiB',
    path: '/v1/score',
    body: () => request([row(imagePart(url(100, 100, largest)))]),
    check: allAre(1, 'bad_sample'),
  },
  {
    name: 'an image of 12 MiB in the letters of URLs',
    path: '/v1/score',
    body: () =>
      request([row(imagePart(url(100, 100, largest, 251).replaceAll('/', '_').replaceAll('+', '-')))]),
    check: allAre(1, 'bad_sample'),
  },
  {
    name: 'a header of 4 billion by 4 billion pixels',
    path: '/v1/score',
    body: () => request([row(imagePart(url(0xffffffff, 0xffffffff, 300_000)))]),
    check: allAre(1, 'bad_sample'),
  },
  {
    name: 'a JPEG of 750,000 empty segments',
    path: '/v1/score',
    body: () => request([row(imagePart(dataUrl(endlessJpeg, 'image/jpeg')))]),
    check: allAre(1, 'bad_sample'),
  },
  {
    name: 'a row of 6,000 images',
    path: '/v1/score',
    body: () =>
      request([row(...Array.from({ length: 6000 }, (_, at) => imagePart(dataUrl(png(8, 8, at % 251)))))]),
    check: allAre(1, 'bad_sample'),
  },
  {
    name: '4,096 rows of one image of the request',
    path: '/v1/score',
    body: () =>
      request(
        Array.from({ length: 4096 }, (_, at) => ({
          ...row(imagePart(`sha256:${sha256(small)}`)),
          response: `answer ${at}`,
        })),
        { images: { [sha256(small)]: dataUrl(small) } },
      ),
    check: allAre(4096, 1),
  },
  {
    name: '40 rows of an image of 300 KB each',
    path: '/v1/score',
    body: () => request(Array.from({ length: 40 }, (_, at) => row(imagePart(url(512, 512, 300_000, at))))),
    check: allAre(40, 1),
  },
  {
    name: '512 rows of 32 images of 300 KB',
    path: '/v1/score',
    body: () => {
      const files = Array.from({ length: 32 }, (_, at) => paddedPng(512, 512, 300_000, at))
      return request(
        Array.from({ length: 512 }, (_, at) => ({
          ...row(imagePart(`sha256:${sha256(files[at % 32] as Buffer)}`)),
          response: `answer ${at}`,
        })),
        { images: Object.fromEntries(files.map((file) => [sha256(file), dataUrl(file)])) },
      )
    },
    check: allAre(512, 1),
  },
  {
    name: '13 calls of 40 rows of an image of 300 KB each',
    path: '/v1/score',
    body: () =>
      request(
        Array.from({ length: 40 }, (_, at) => ({
          ...row(imagePart(url(512, 512, 300_000, at))),
          response: 'answer {n}',
        })),
      ),
    atOnce: 13,
    check: allAre(40, 1),
    isLong: true,
  },
  {
    name: 'an image of the request under another hash',
    path: '/v1/score',
    body: () =>
      request([row(imagePart(`sha256:${sha256(small)}`))], { images: { [sha256(small)]: dataUrl(common) } }),
    check: allAre(1, 'bad_sample'),
  },
  {
    name: 'an image of the request twice under its hash',
    path: '/v1/score',
    body: () => {
      const text = request([row(imagePart(`sha256:${sha256(small)}`))], { images: {} }).toString()
      const member = (bytes: Buffer) => `"${sha256(small)}":"${dataUrl(bytes)}"`
      return Buffer.from(text.replace('"images":{}', `"images":{${member(common)},${member(small)}}`))
    },
    check: allAre(1, 1),
  },
  {
    name: '20,000 images of a request that no row refers to',
    path: '/v1/score',
    body: () => {
      const images = Array.from({ length: 20_000 }, (_, at) => [sha256(Buffer.from(`${at}`)), dataUrl(small)])
      return request([row(imagePart(dataUrl(small)))], { images: Object.fromEntries(images) })
    },
    check: allAre(1, 1),
  },
]
