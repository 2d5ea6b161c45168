import type { Reader } from '../reader.ts'
import { linesOf, textReader } from '../text-file.ts'

// `uses: owner/name/path@ref # v1.2.3`
const USES = /^\s*(?:- )?uses: ?["']?([\w.-]+)\/([\w.-]+)(?:\/[^@"'\s]*)?@([^"'\s#]+)["']?(?: #\s?(v?\d[\w.]*))?/
const COMMIT = /^[0-9a-f]{40}$/

/** Source: docs.github.com, workflow syntax, "jobs.<job_id>.steps[*].uses" */
const workflow = textReader({
  id: 'github-workflow',
  path: path =>
    /(?:^|\/)\.github\/(?:workflows\/[^/]+|actions\/(?:[^/]+\/)*action)\.ya?ml$/.test(path) &&
    !/(?:^|\/)node_modules\//.test(path),
  most: 2 ** 20,
  *read(text) {
    for (const line of linesOf(text)) {
      const [, namespace, name, ref = '', comment] = USES.exec(line) ?? []
      if (namespace === undefined || name === undefined || namespace === '.' || namespace === '..') continue
      // a commit says its release in a comment, if at all
      const version = COMMIT.test(ref) ? comment : ref
      yield {
        type: 'github',
        namespace,
        name,
        version,
        presence: 'declared',
        rule: 'github-workflow',
        confidence: 'certain',
      }
    }
  },
})

/** The actions that workflows of GitHub use. */
export const githubReaders: readonly Reader[] = [workflow]
