import { readdirSync, readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { type Command, defineCommand } from './command.ts'
import { shippedConfigs } from './gateway.ts'
import { misused, type Suggestion } from './options.ts'

type Commands = ReadonlyMap<string, () => Promise<Command>>

/** A possible next word and its meaning. */
interface Candidate {
  readonly text: string
  readonly about: string
}

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** The command `completion` for these commands. Exit code 0. */
export const completionOf = (commands: Commands): Command =>
  defineCommand({
    name: 'completion',
    summary: 'prints the shell completion for bash, zsh or fish',
    synopsis: shells.map(String),
    about: `Prints a script that completes commands, options, their values, files, and the names of rewards:

  bash  source <(reward-gateway completion bash)                                        in ~/.bashrc
  zsh   source <(reward-gateway completion zsh)                                         in ~/.zshrc, after compinit
  fish  reward-gateway completion fish > ~/.config/fish/completions/reward-gateway.fish

The script calls \`reward-gateway completion SHELL -- WORDS...\`, which prints the candidates for the last word.`,
    example: 'bash > ~/.reward-gateway.bash',
    options: {},
    positionals: shells,
    async run({ positionals: [name, ...words] }, io) {
      if (name === undefined) throw misused(`a shell is needed: ${shells.join(', ')}`, 'completion')
      const shell = shells.find((one) => one === name)
      if (shell === undefined)
        throw misused(`there is no completion for '${name}', only for ${shells.join(', ')}`)
      io.stdout.write(words.length === 0 ? scripts[shell] : await answerTo(words, shell, commands))
      return 0
    },
  })

/** The output that the script reads: a line for each candidate, `:files` for the shell's own completion of paths, or nothing. */
async function answerTo(given: readonly string[], shell: Shell, commands: Commands): Promise<string> {
  const words = shell === 'bash' ? joined(given) : given
  const last = words.at(-1) ?? ''
  const [, assigned] = /^(--[\w-]+=)/.exec(last) ?? []
  const found = await candidatesOf(words, commands)
  // Without a candidate, bash itself completes file names.
  if (found === 'files') return shell === 'bash' ? '' : ':files\n'
  const typed = last.slice(assigned?.length ?? 0)
  return found
    .filter(({ text }) => text.startsWith(typed))
    .map((candidate) => `${lineOf[shell](candidate, assigned ?? '')}\n`)
    .join('')
}

const lineOf: Readonly<Record<Shell, (candidate: Candidate, assigned: string) => string>> = {
  // bash splits words at '=', so what was typed before it is not part of the word.
  bash: ({ text }) => text,
  zsh: ({ text, about }, assigned) => `${(assigned + text).replace(/[\\:]/g, '\\$&')}:${about}`,
  fish: ({ text, about }, assigned) => `${assigned}${text}\t${about}`,
}

/** bash gives `--format=json` as three words. */
function joined(words: readonly string[]): readonly string[] {
  const whole: string[] = []
  for (const [at, word] of words.entries()) {
    const isValue = words[at - 1] === '=' && whole.at(-1)?.startsWith('--')
    if ((word === '=' && whole.at(-1)?.startsWith('--')) || isValue) whole.push(`${whole.pop()}${word}`)
    else whole.push(word)
  }
  return whole
}

async function candidatesOf(
  words: readonly string[],
  commands: Commands,
): Promise<readonly Candidate[] | 'files'> {
  const names = [...new Set([...commands.keys()].map((name) => name.split(' ')[0] ?? ''))]
  const [first = '', ...rest] = words
  if (rest.length === 0 || first === 'help')
    return Promise.all(
      [...names, ...(first === 'help' ? [] : ['help'])].map(async (text) => ({
        text,
        about: (await commands.get(text)?.())?.summary ?? 'explains a command',
      })),
    )
  const nested = commands.get(`${first} ${rest[0]}`)
  const load = rest.length > 1 && nested ? nested : commands.get(first)
  if (!load) return []
  const command = await load()
  const last = rest.at(-1) ?? ''
  const [, assigned] = /^--([\w-]+)=/.exec(last) ?? []
  const before = rest.at(-2)
  const name = assigned ?? (before?.startsWith('--') && !before.includes('=') ? before.slice(2) : undefined)
  const option =
    name !== undefined && Object.hasOwn(command.options, name) ? command.options[name] : undefined
  if (option && option.value !== null) return suggested(option.suggests, command, rest)
  if (assigned !== undefined) return []
  if (last.startsWith('-'))
    return [
      ...Object.entries(command.options).map(([option, { help }]) => ({ text: `--${option}`, about: help })),
      { text: '--help', about: 'explains the command' },
    ]
  // The first word is one of a fixed set; files follow.
  const isFirst = rest.length === 1
  return suggested(
    isFirst || command.positionals === 'files' ? (command.positionals ?? null) : 'files',
    command,
    rest,
  )
}

function suggested(
  suggestion: Suggestion | null,
  command: Command,
  words: readonly string[],
): readonly Candidate[] | 'files' {
  if (suggestion === 'files' || suggestion === 'folders') return 'files'
  const texts = suggestion === 'rewards' ? rewardNames(configsIn(command, words)) : (suggestion ?? [])
  return texts.map((text) => ({ text, about: '' }))
}

/** The configs on the command line so far, or the shipped ones if there are none. */
function configsIn(command: Command, words: readonly string[]): readonly string[] {
  const at = words.indexOf('--config')
  const assigned = words.find((word) => word.startsWith('--config='))?.slice('--config='.length)
  const named = assigned ?? (at < 0 ? undefined : words[at + 1])
  if (named !== undefined) return [named]
  const isPath = (word: string) => /\.(?:ya?ml|json)$/.test(word) || isFolder(untilded(word))
  const paths = command.positionals === 'files' ? words.filter(isPath) : []
  return paths.length > 0 ? paths : [shippedConfigs()]
}

const untilded = (path: string): string => path.replace(/^~(?=\/|$)/, homedir())

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    return false
  }
}

/** Names of the rewards in the configs. Reads them without checks, because a key press must not wait. */
function rewardNames(paths: readonly string[]): readonly string[] {
  return paths.map(untilded).flatMap((path) => {
    try {
      return isFolder(path)
        ? readdirSync(path)
            .filter((name) => /\.(?:ya?ml|json)$/.test(name) && !/^gateway\.|\.schema\.json$/.test(name))
            .map((name) => rewardNameOf(join(path, name)))
        : [rewardNameOf(path)]
    } catch {
      // An error would appear in the middle of the user's command line.
      return []
    }
  })
}

function rewardNameOf(path: string): string {
  const [, named] = /^(?:\{\s*)?["']?name["']?:\s*["']?([\w.-]+)/m.exec(readFileSync(path, 'utf8')) ?? []
  return named ?? basename(path).replace(/\.\w+$/, '')
}

/** Passes the words to the command unchanged: nothing on the command line is executed or expanded. */
const scripts: Readonly<Record<Shell, string>> = {
  bash: `# bash completion for reward-gateway
_reward_gateway() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(reward-gateway completion bash -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _reward_gateway reward-gateway
`,
  zsh: `#compdef reward-gateway
_reward_gateway() {
  local -a lines
  lines=("\${(@f)$(reward-gateway completion zsh -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ \${lines[1]} == ':files' ]]; then
    compset -P '--*='
    _files
  elif [[ -n \${lines[1]} ]]; then
    _describe 'reward-gateway' lines
  fi
}
if [[ \${funcstack[1]} == _reward[-_]gateway ]]; then
  _reward_gateway "$@"
else
  compdef _reward_gateway reward-gateway
fi
`,
  fish: `# fish completion for reward-gateway
function __reward_gateway_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines (reward-gateway completion fish -- $words[2..-1] "$word" 2>/dev/null)
    if test "$lines[1]" = ':files'
        set -l assigned (string match -r -- '^--[^=]*=' "$word")
        for path in (__fish_complete_path (string replace -r -- '^--[^=]*=' '' "$word"))
            printf '%s%s\\n' "$assigned" "$path"
        end
    else if set -q lines[1]
        printf '%s\\n' $lines
    end
end
complete -c reward-gateway -f -a '(__reward_gateway_complete)'
`,
}
