import { MANAGERS, nameOf, VERBS, type Manager } from '../formats/installers.ts'

/** What a Dockerfile installs. */
export interface Installed {
  readonly manager: Manager
  readonly name: string
}

/** What is read of a Dockerfile. */
export interface DockerfileFacts {
  /** Each name once, in the order of the file. */
  readonly installed: readonly Installed[]
  /** Of the last `FROM`: `debian:bookworm-slim`; undefined where there is none, or it names another stage. */
  readonly image: string | undefined
}

/** Options whose value is the next word. */
const TAKES_VALUE = new Set(['-t', '--target-release', '-o', '-c', '-X', '--repository', '--virtual', '--root', '-p'])
/** Ends a command of a shell. */
const END = /^(?:&&?|\|\|?|;|\n|\(|\)|\{|\})$/

/** Instructions with their lines joined, without comments. Source: Dockerfile reference, "Format", "Escape". */
function instructions(text: string): readonly (readonly [word: string, rest: string])[] {
  const escape = /^\s*#\s*escape\s*=\s*`/im.test(text.split('\n', 3).join('\n')) ? '`' : '\\'
  const found: (readonly [string, string])[] = []
  let sofar = ''
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*#/.test(line)) continue
    const trimmed = line.trimEnd()
    if (sofar !== '' && trimmed === '') continue
    if (trimmed.endsWith(escape)) {
      sofar += `${trimmed.slice(0, -1)} `
      continue
    }
    const [, word = '', rest = ''] = /^\s*(\S+)\s*(.*)$/s.exec(sofar + trimmed) ?? []
    if (word !== '') found.push([word.toUpperCase(), rest])
    sofar = ''
  }
  const [, word = '', rest = ''] = /^\s*(\S+)\s*(.*)$/s.exec(sofar) ?? []
  return word === '' ? found : [...found, [word.toUpperCase(), rest]]
}

/** The words of a shell command; operators are words of their own. Quotes are taken off, nothing is expanded. */
function shellWords(command: string): string[] {
  const words: string[] = []
  for (const [, quoted, single, plain, operator] of command.matchAll(
    /"((?:[^"\\]|\\.)*)"|'([^']*)'|([^\s"'&|;(){}]+)|(&&?|\|\|?|[;(){}])/g,
  ))
    words.push(quoted ?? single ?? plain ?? operator ?? '')
  return words
}

/** The packages that one shell command installs. */
function installedBy(words: readonly string[]): Installed[] {
  const found: Installed[] = []
  let manager: Manager | undefined
  let isInstalling = false
  let skip = false
  for (const word of words) {
    if (END.test(word)) {
      manager = undefined
      isInstalling = false
      skip = false
    } else if (skip) skip = false
    else if (manager === undefined) manager = MANAGERS[word.replace(/^.*\//, '')]
    else if (word.startsWith('-')) skip = TAKES_VALUE.has(word)
    else if (!isInstalling) {
      isInstalling = VERBS[manager].has(word)
      if (!isInstalling) manager = undefined
    } else if (/^\d*[<>]/.test(word)) isInstalling = false
    else {
      const name = nameOf(word, manager)
      if (name !== undefined) found.push({ manager, name })
    }
  }
  return found
}

/** `RUN ["apt-get", "install", "nginx"]` and the shell form. */
function commandOf(rest: string): readonly string[] {
  const bare = rest.replace(/^(?:--\S+\s+)+/, '')
  if (bare.trimStart().startsWith('[')) {
    try {
      const list: unknown = JSON.parse(bare)
      if (Array.isArray(list)) {
        const words = list.map(String)
        return /^(?:.*\/)?(?:ba|da|a)?sh$/.test(words[0] ?? '') ? shellWords(words.slice(2).join(' ')) : words
      }
    } catch {
      // then it is a shell command that begins with a bracket
    }
  }
  return shellWords(bare)
}

/** Reads which packages a Dockerfile installs, over all of its stages. Nothing is executed or expanded. */
export function readDockerfile(text: string): DockerfileFacts {
  const installed = new Map<string, Installed>()
  const stages = new Set<string>()
  let image: string | undefined
  for (const [word, rest] of instructions(text)) {
    if (word === 'FROM') {
      const [, name = '', , stage] = /^(?:--\S+\s+)*(\S+)(\s+as\s+(\S+))?/i.exec(rest) ?? []
      image = stages.has(name.toLowerCase()) ? image : name
      if (stage !== undefined) stages.add(stage.toLowerCase())
    }
    if (word === 'RUN') for (const one of installedBy(commandOf(rest))) installed.set(`${one.manager} ${one.name}`, one)
  }
  return { installed: [...installed.values()], image: image === '' ? undefined : image }
}
