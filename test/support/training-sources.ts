/** Sources as their publishers write them; made here, always the same. */
import { seeded } from '../../src/core/statistics/random.ts'
import { graphRows } from './graph-sources.ts'

export type SourceRows = readonly Readonly<Record<string, unknown>>[]

/** Rows of each family's source, by its name. */
export const sources: Readonly<Record<string, (count: number) => SourceRows>> = {
  gsm8k: wordProblems,
  countdown: numberGames,
  'tool-call': conversations,
  rider: deliveries,
  'npg-muse': graphRows,
  pairs: preferences,
}

/** As a prompt and texts, as a prompt and turns, and as whole conversations. */
function preferences(count: number): SourceRows {
  return Array.from({ length: count }, (_, at) => {
    const prompt = [
      { role: 'user', content: `Name a river, please. ${at}` },
      { role: 'assistant', content: 'In which country?' },
      { role: 'user', content: 'Any.' },
    ]
    const [chosen, rejected] = [`The Rhine, as in line ${at}.`, 'No.'].map((content) => ({
      role: 'assistant',
      content,
    }))
    if (at % 3 === 0)
      return { prompt: prompt[0]?.content, chosen: chosen?.content, rejected: rejected?.content }
    return at % 3 === 1
      ? { prompt, chosen: [chosen], rejected: [rejected] }
      : { prompt: 'Name a river', chosen: [...prompt, chosen], rejected: [...prompt, rejected] }
  })
}

function wordProblems(count: number): SourceRows {
  return Array.from({ length: count }, (_, at) => {
    const [boxes, each, sold] = [3 + (at % 17), 110 + at, 2 + (at % 5)]
    const all = boxes * each
    return {
      question: `A shop has ${boxes} boxes of ${each} pens and sells ${sold}. How many pens are left?`,
      answer: `There are ${boxes}*${each} = <<${boxes}*${each}=${all}>>${all} pens.\nThen ${all - sold} are left.\n#### ${(all - sold).toLocaleString('en-US')}`,
    }
  })
}

/** The numbers add up to the target, or their product does. */
function numberGames(count: number): SourceRows {
  const random = seeded(3)
  return Array.from({ length: count }, (_, at) => {
    const nums = Array.from({ length: 3 + (at % 2) }, () => 1 + Math.floor(random() * 60))
    const [a = 1, b = 1, ...rest] = nums
    const start = at % 3 === 0 ? a * b : Math.abs(a - b)
    return { target: rest.reduce((sum, number) => sum + number, start), nums }
  })
}

const tools = JSON.stringify([
  { name: 'files.copy', parameters: {} },
  { name: 'note', parameters: {} },
])

function conversations(count: number): SourceRows {
  return Array.from({ length: count }, (_, at) => ({
    0: { role: 'system', content: 'old instructions', tools },
    1: { role: 'user', content: `Please note that box ${at} is heavy, then copy report ${at}.` },
    2: {
      role: 'assistant',
      content: `<think>First the note.</think>[note("box ${at}", tags=['heavy', "it's"], urgent=True)]`,
    },
    3: { role: 'tool', content: `[{'note': 'saved as ${at}'}, {'log': ['a', None]}]` },
    4: {
      role: 'assistant',
      content: `[files.copy(source='report ${at}.pdf', options={'deep': False, 'depth': ${at}}), note(f'done')]`,
    },
    ...(at % 2 === 0 && { 5: { role: 'tool', content: '[{"copied": true}]' } }),
    ...(at % 4 === 0 && { 6: { role: 'assistant', content: 'Both are done.' } }),
  }))
}

function deliveries(count: number): SourceRows {
  return Array.from({ length: count }, (_, at) => ({
    input: `第${at}单：餐已送回商家，可以通过我的申诉吗？`,
    target: JSON.stringify({
      Thought: `第${at}单的餐已送回，申诉成立。`,
      RelevantConstraintRuleNumber: [at % 7, 9],
      RelevantKnowledgeNumber: [],
      Response: `客服:第${at}单已核实，申诉通过。`,
      ResponseSolution: '申诉通过',
      DialogueAgreeSolution: '是',
    }),
    grm_input: `第${at}单，请评审客服回复：\n{response}\n只输出 {"维度一": 1/0}`,
  }))
}
