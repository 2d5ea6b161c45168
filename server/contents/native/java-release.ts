import { textReader } from '../text-file.ts'

const FIELD = /^(JAVA_VERSION|IMPLEMENTOR)="([^"]{1,100})"$/gm

/** The `release` file at the root of a Java runtime. Source: JDK Enhancement Proposal 220, "The release file" */
export const javaRelease = textReader({
  id: 'java-release',
  path: /(?:^|\/)release$/,
  most: 64 * 1024,
  *read(text, path) {
    const fields = new Map([...text.matchAll(FIELD)].map(([, key = '', value = '']) => [key, value]))
    const version = fields.get('JAVA_VERSION') ?? ''
    if (!/^\d[\w.+-]*$/.test(version)) return
    const folder = path.slice(0, -'release'.length)
    yield {
      type: 'generic',
      name: 'openjdk',
      version,
      presence: 'shipped',
      rule: 'java-release',
      confidence: /oracle/i.test(fields.get('IMPLEMENTOR') ?? '') ? 'probable' : 'certain',
      // what runs: modules since Java 9, a jar before
      needs: [`${folder}lib/modules`, `${folder}lib/rt.jar`, `${folder}jre/lib/rt.jar`],
    }
  },
})
