/**
 * Writes src/scoring/engine/guard/control-tokens.ts from published chat templates: `node dist/test/control-tokens.js [-v] FOLDER...`.
 * A folder is a checkout, or a part of one, of a project that holds templates: llama.cpp (models/templates), vLLM
 * (examples), SGLang (srt/parser), LLaMA-Factory, ms-swift, axolotl, FastChat, LMDeploy, Ollama, mistral-common, ...
 * Names that were known before stay, so that a new family needs one folder. Prints counts; with -v the names it left out.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { bracketedNames, sources, taggedNames } from '../src/scoring/engine/guard/control-tokens.ts'
import { controlTokensFile, controlTokensText } from './support/control-tokens.ts'

const folders = process.argv.slice(2).filter((one) => one !== '-v')
const isVerbose = process.argv.includes('-v')

const isSource = /\.(?:jinja2?|gotmpl|ya?ml|py|go|rs|md|js|ts|cpp|hpp|h|json)$/
const mostBytes = 4_000_000

/** Tokens whose shape alone tells: the guard needs no list of them. */
const shapes = [
  /<\/?[|｜][^\s<>|｜]{1,64}[|｜]>/g,
  /<\|[A-Za-z_]{2,40}>|<[A-Za-z_]{2,40}\|>/g,
  /\[\|[A-Za-z][\w:.-]{1,39}\|\]/g,
  /[[\]](?=[a-z!~]{1,3}[[\]])[a-z!]{0,2}~[a-z!]{0,2}[[\]]|\]<\][a-z_]{1,24}\[>\[/g,
]

/** What the name of a control token says: the end of a text, a turn, a thought, a tool's call, the place of an image. */
const telling = new RegExp(
  `^(?:${[
    's|SYS|bos|eos|pad|unk|sep|cls|mask|sop|eop|eod|eot|eom|eoa|eoh|eoc|bot|BOS|EOS|EOT|EOI|PAD|UNK|SEP|CLS|MASK|PRE|MID|SUF|FILL|REPO',
    '(?:B|E)_(?:SYS|INST)|(?:BOS|EOS|IMAGE)_TOKEN|C_[AQ]|AI|human|so_embedding|REKA_IMG_TOKEN|longcat_s',
    '(?:start|begin|beginning|end)_(?:of_)?\\w+|(?:im|audio|frame|image|video|vision|tool)_(?:start|end|patch|pad|sep|soft_token|id)|start-image',
    '[gs]MASK|INST|SYSTEM_PROMPT|MODEL_SETTINGS|THINK|AVAILABLE_TOOLS|ARGS|CALL_ID|TOOL_\\w+|TOOLCALL|TOOL_RESPONSE|IMG(?:_\\w+)?|BEGIN_AUDIO|AUDIO|TRANSCRIBE|STREAMING_\\w+|PREFIX|MIDDLE|SUFFIX',
    'think(?:ing)?(?::\\w+)?|mm:think|thought|toolcall|tool_calls?|tool_calling|tool_responses?|tool_results?|tool_outputs?|functioncall|function_calls?|function_results?|function_response|arg_key|arg_value|minimax:tool_call|atem:function_calls',
    'fim[-_](?:prefix|middle|suffix|pad|repo)|reponame|seed:\\w+|extra(?:_id)?_\\d+|reserved_\\d+|unused_?\\d+|SPECIAL_\\d+|UNUSED_TOKEN_\\d+',
    'image|img|video|audio|IMG_CONTEXT|imgpad|image_placeholder',
    'system|user|assistant|developer',
    '_(?:bot|user|system|observation|start|end)(?:_\\w+)?',
    '(?:think|tool_\\w+|arg_\\w+):opensource',
  ].join('|')})$`,
)

/** Of vocabularies and templates that are in no such folder: Gemma, BERT, Nemotron, early GLM, Ling, TeleChat, Cohere, LongCat, StarCoder, Chameleon, YandexGPT, Mistral, older forms of tool calls. */
const known = {
  tagged:
    'role _end _pad EOS_TOKEN PAD_TOKEN MASK_TOKEN UNK_TOKEN CLS_TOKEN unused0 SPECIAL_11 extra_id_1 mask cls eop eod end_of_text function_call function_result TOOLCALL TOOL_RESPONSE AVAILABLE_TOOLS longcat_user longcat_assistant longcat_system longcat_think longcat_tool_call longcat_tool_declare longcat_arg_key longcat_arg_value longcat_pad longcat_unk eor eoss racm3:break reserved0 _start _observation code_interpreter FIM_PREFIX FIM_SUFFIX FIM_MIDDLE TOKENS_UNUSED_0 jupyter_start jupyter_text jupyter_code jupyter_output jupyter_script issue_start issue_comment issue_closed commit_before commit_msg commit_after gh_stars empty_output file_sep repo_name'.split(
      ' ',
    ),
  bracketed: 'CLS SEP MASK PAD UNK BOS EOS sMASK gMASK NL ATTR control_8'.split(' '),
}

const tagged = new Set<string>([...taggedNames, ...known.tagged.map(numbered)])
const bracketed = new Set<string>([...bracketedNames, ...known.bracketed.map(numbered)])
const shaped = new Set<string>()
const leftOut = new Set<string>()

/** A name with its numbers as `#`: the guard breaks every other number too. */
function numbered(name: string): string {
  return name.replace(/\d+/g, '#')
}

function* filesIn(path: string): Generator<string> {
  if (statSync(path).isFile()) yield path
  else
    for (const entry of readdirSync(path).sort())
      if (entry !== '.git' && entry !== 'node_modules') yield* filesIn(join(path, entry))
}

const names: string[] = []
for (const folder of folders) {
  let files = 0
  const before = tagged.size + bracketed.size + shaped.size
  for (const file of filesIn(folder)) {
    if (!isSource.test(file) || statSync(file).size > mostBytes) continue
    files += 1
    const text = readFileSync(file, 'utf8').replaceAll('\\|', '|').replaceAll('{self.HYTK}', ':opensource')
    for (const shape of shapes) for (const [token] of text.matchAll(shape)) shaped.add(token)
    for (const [token, name = ''] of text.matchAll(/<\/?([A-Za-z_][\w:.-]{0,39})>/g))
      if (telling.test(name)) tagged.add(numbered(name))
      else leftOut.add(token)
    for (const [token, name = ''] of text.matchAll(/\[\/?([A-Z][A-Z_\d]{2,39}|[gs]MASK)\]/g))
      if (telling.test(name)) bracketed.add(numbered(name))
      else leftOut.add(token)
  }
  names.push(basename(folder).replace('+', '/'))
  process.stdout.write(
    `${folder}: ${files} files, ${tagged.size + bracketed.size + shaped.size - before} new tokens\n`,
  )
}
process.stdout.write(
  `${tagged.size} in <>, ${bracketed.size} in [], ${shaped.size} known by their shape alone\n`,
)
if (isVerbose) process.stdout.write(`left out: ${[...leftOut].sort().join(' ')}\n`)
if (folders.length > 0)
  writeFileSync(
    controlTokensFile,
    controlTokensText({
      tagged: [...tagged],
      bracketed: [...bracketed],
      sources: [...new Set([...sources, ...names])],
    }),
  )
