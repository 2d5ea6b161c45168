import { linesOf, textReader } from '../text-file.ts'
import { OWN_PROJECT } from '../unasked.ts'
import { gemFound } from './gem-found.ts'

// a gem that was installed carries the lock of those who developed it
const INSIDE_GEM = /(?:^|\/)gems\/[^/]+-\d[^/]*\//

/** `Gemfile.lock`: four blanks before what was chosen, six before what it needs. Source: bundler.io, Gemfile.lock */
export const gemfileLock = textReader({
  id: 'gemfile-lock',
  path: path => /(?:^|\/)(?:Gemfile\.lock|gems\.locked)$/.test(path) && !INSIDE_GEM.test(path),
  *read(text) {
    let section = ''
    for (const line of linesOf(text)) {
      if (/^\S/.test(line)) section = line
      const [, name = '', version = '', platform = ''] = /^ {4}(\S+) \(([^\s()-]+)(?:-([^\s()]+))?\)$/.exec(line) ?? []
      if (!['GEM', 'GIT', 'PATH', 'PLUGIN SOURCE'].includes(section)) continue
      yield* gemFound(name, version, platform, {
        presence: 'declared',
        rule: 'gemfile-lock',
        ...(section === 'GIT' ? { confidence: 'probable' } : {}),
        ...(section === 'PATH' ? { unasked: OWN_PROJECT } : {}),
      })
    }
  },
})
