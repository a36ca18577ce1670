import { asciiTable } from './ascii.ts'

/** Words of control tokens in angle brackets: `<s>`, `</think>`, `<start_of_turn>`, `<extra_0>`, `<tool_call>`. */
const tagged =
  'SYS|s|bos|eos|pad|unk|sop|eop|eod|end_of_text|think|thinking|thought|tool_call|tool_response|tool_result|' +
  'function_calls?|function_results?|start_of_turn|end_of_turn|extra_\\d{1,3}'

/** At a `<`: `<|im_end|>`, `<｜User｜>`, a tagged word. */
export const angledToken = new RegExp(`<(?:[|｜][^\\s<>|｜]{1,64}[|｜]>|/?(?:${tagged})>)`, 'y')

/** At a `[`: `[INST]`, `[/INST]`, `[gMASK]`. */
export const bracketedToken =
  /\[\/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|AVAILABLE_TOOLS|ARGS|gMASK|sMASK|MASK|CLS|SEP)\]/y

/** At a bracket of our fences beside what a reader might take for a nonce. */
export const openFence = /⟦[0-9A-Fa-f]{8}/y
/** The end of an opening fence, its nonce. */
export const fenceTail = /[0-9A-Fa-f]{8}$/

const roles = 'human|user|assistant|system|developer|judge|grader|evaluator|evaluation'
const more = "(?:['’]s)?(?: (?:response|output|message|prompt|note))?"

/** At a line's beginning, what seems to open a turn: `Assistant: `, `### System`, `[ASSISTANT'S RESPONSE]`; the groups stand before the role. */
export const turn = new RegExp(
  `([ \\t>#*_[(]{0,6})(?:${roles})${more}[\\])*_]{0,3}[:：]|([ \\t]{0,3}(?:#{1,6} ?|\\[))(?:${roles})${more}(?:\\]|[ \\t]{0,4}(?:\\r?\\n|$))`,
  'iy',
)

/** What `turn` can begin with. */
export const turnStarts = asciiTable(/[ \t>#*_[(adeghjsu]/i)
