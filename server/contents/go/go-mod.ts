import { folderOf, linesOf, textReader } from '../text-file.ts'
import { resolved, type Other } from './module-found.ts'

/** The directives of a go.mod with their words, blocks taken apart. Source: go.dev/ref/mod, "Lexical elements" */
function* directives(text: string): Generator<readonly [verb: string, words: readonly string[]]> {
  let block = ''
  for (const line of linesOf(text)) {
    if (line === '') continue
    const words = line
      .replace(/\/\/.*/, '')
      .trim()
      .split(/\s+/)
    const [head = ''] = words
    if (words[1] === '(') block = head
    else if (head === ')') block = ''
    else if (block !== '') yield [block, words]
    else yield [head, words.slice(1)]
  }
}

/** `go.mod`: what is required, replaced ones as they are replaced. Source: go.dev/ref/mod, "go.mod files" */
export const goMod = textReader({
  id: 'go-mod',
  // the cache of modules and a vendor folder hold the files of those who were required
  path: path => /(?:^|\/)go\.mod$/.test(path) && !/(?:^|\/)vendor\/|@v[^/]*\//.test(path),
  *read(text) {
    const required: (readonly [path: string, version: string])[] = []
    const replaced = new Map<string, Other>()
    for (const [verb, words] of directives(text)) {
      const [path = '', version = ''] = words
      const arrow = words.indexOf('=>')
      if (verb === 'require' && version.startsWith('v')) required.push([path, version])
      if (verb === 'replace' && arrow !== -1)
        replaced.set(words.slice(0, arrow).join('@'), [words[arrow + 1], words[arrow + 2]])
    }
    for (const one of required) {
      const [path, version] = one
      const other = replaced.get(`${path}@${version}`) ?? replaced.get(path) ?? []
      yield resolved(one, other, { presence: 'declared', rule: 'go-mod' })
    }
  },
})

/** `vendor/modules.txt`: modules whose source text lies in the folder beside it. Source: go.dev/ref/mod, "Vendoring" */
export const vendoredModules = textReader({
  id: 'go-vendor',
  path: /(?:^|\/)vendor\/modules\.txt$/,
  *read(text, path) {
    const seen = new Set<string>()
    for (const line of linesOf(text)) {
      const [, name = '', version = '', to, other] = /^# (\S+)(?: (v\S+))?(?: => (\S+)(?: (v\S+))?)?$/.exec(line) ?? []
      if (name === '' || version === '' || seen.has(name)) continue
      seen.add(name)
      const about = { presence: 'shipped', rule: 'go-vendor', needs: [folderOf(path) + name] } as const
      yield resolved([name, version], [to, other], about)
    }
  },
})

/** What modules of Go want, and what they carry as source text. */
export const goModReaders = [goMod, vendoredModules] as const
