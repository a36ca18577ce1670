import { type BleuCounts, type BleuSettings, bleuCounts, bleuOf } from '../../src/grading/translation/bleu.ts'
import { type ChrfSettings, chrfCounts, chrfOf } from '../../src/grading/translation/chrf.ts'
import { terCounts, terOf } from '../../src/grading/translation/similarity.ts'
import { type BleuTokenizer, bleuTokens, type TerSettings } from '../../src/grading/translation/tokenizers.ts'
import type { Adapter, Answer, Vector } from './vector.ts'

/** One pair of a text and its references for a sentence; for a corpus, one for each line. */
function pairs({ input }: Vector): readonly (readonly [text: string, references: readonly string[]])[] {
  if ('hypothesis' in input) return [[String(input.hypothesis), input.references as readonly string[]]]
  const sets = input.references as readonly (readonly string[])[]
  return (input.hypotheses as readonly string[]).map((text, at) => [text, sets.map((set) => set[at] ?? '')])
}

const sums = (rows: readonly (readonly number[])[]): number[] =>
  rows.reduce<number[]>((total, row) => row.map((value, at) => value + (total[at] ?? 0)), [])

const bleu: Answer = (vector) => {
  const settings = vector.input.options as BleuSettings
  const rows = pairs(vector).map(([text, references]) => bleuCounts(text, references, settings))
  const sum = (of: (counts: BleuCounts) => number): number => rows.reduce((total, row) => total + of(row), 0)
  return bleuOf(
    {
      sys_len: sum(({ sys_len }) => sys_len),
      ref_len: sum(({ ref_len }) => ref_len),
      counts: sums(rows.map(({ counts }) => counts)),
      totals: sums(rows.map(({ totals }) => totals)),
    },
    settings,
  )
}

const chrf: Answer = (vector) => {
  const settings = vector.input.options as ChrfSettings
  const rows = pairs(vector).map(([text, references]) => chrfCounts(text, references, settings))
  const counts = (rows[0] ?? []).map(
    (_, order) =>
      sums(rows.map((row) => [...(row[order] ?? [0, 0, 0])])) as unknown as readonly [number, number, number],
  )
  return { score: chrfOf(counts, settings) }
}

const ter: Answer = (vector) => {
  const rows = pairs(vector).map(([text, references]) =>
    terCounts(text, references, vector.input.options as TerSettings),
  )
  const [num_edits = 0, ref_length = 0] = sums(rows.map((row) => [row.num_edits, row.ref_length]))
  return { score: terOf({ num_edits, ref_length }), num_edits, ref_length }
}

/** sacrebleu's metrics, of sentences and of corpora. */
export const textMetrics: Adapter = {
  answers: {
    tokenize: ({ input }) => {
      const tokenizer = input.tokenize as BleuTokenizer
      return tokenizer === 'char'
        ? Array.from(String(input.text)).join(' ')
        : bleuTokens(String(input.text), tokenizer).join(' ')
    },
    sentence_bleu: (vector) =>
      bleu(
        {
          ...vector,
          input: {
            ...vector.input,
            options: { effective_order: true, ...(vector.input.options as BleuSettings) },
          },
        },
        'published',
      ),
    corpus_bleu: bleu,
    sentence_chrf: chrf,
    corpus_chrf: chrf,
    sentence_ter: ter,
    corpus_ter: ter,
  },
}
