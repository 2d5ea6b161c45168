// What `npm test` keeps of a run of vitest: each test with its result, and every error outside tests. Plain JavaScript,
// like `test.mjs`.
import { writeFileSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'

const isOurs = line => !line.includes('node_modules') && !line.includes('node:internal')
const firstLines = (text, most) => text.split('\n').filter(isOurs).slice(0, most)
/** What an error says, where, and the first differences of what was compared. */
const told = error =>
  [
    ...firstLines(error.stack ?? error.message ?? String(error), 12),
    ...firstLines(stripVTControlCharacters(error.diff ?? ''), 200)
      .filter(line => /^[-+]/.test(line))
      .slice(0, 24),
  ].join('\n')

/** The tests of a file with state and errors, and whether the suite above them failed before they ran. */
function testsOf(module) {
  const [project, file] = [module.project.name, module.relativeModuleId]
  return [...module.children.allTests()].map(test => {
    const { state, errors } = test.result()
    return {
      project,
      file,
      suite: test.parent.fullName ?? '',
      name: test.fullName,
      state,
      errors: (errors ?? []).map(told),
    }
  })
}

/** Errors outside the tests: a file that did not load, a hook that failed. */
function brokenIn(module) {
  const [project, file] = [module.project.name, module.relativeModuleId]
  const suites = [...module.children.allSuites()].flatMap(suite =>
    suite.errors().map(error => ({ project, file, name: suite.fullName, errors: [told(error)] })),
  )
  return [
    ...module.errors().map(error => ({ project, file, name: 'the file itself', errors: [told(error)] })),
    ...suites,
  ]
}

/** The file that an error belongs to: named by vitest, or by what says which file a process died of. */
const pathOf = error =>
  error.VITEST_TEST_PATH ?? /while running test file (.+)$/m.exec(error.cause?.message ?? error.message ?? '')?.[1]

/** A reporter for vitest; writes its report to the file that TEST_REPORT names. */
export default class Report {
  onTestRunEnd(modules, unhandled) {
    const stray = unhandled.map(error => {
      const module = modules.find(({ moduleId }) => moduleId === pathOf(error))
      return {
        project: module?.project.name,
        file: module?.relativeModuleId,
        name: 'an error that nobody caught',
        errors: [told(error)],
      }
    })
    writeFileSync(
      process.env.TEST_REPORT,
      JSON.stringify({ tests: modules.flatMap(testsOf), broken: [...modules.flatMap(brokenIn), ...stray] }),
    )
  }
}
