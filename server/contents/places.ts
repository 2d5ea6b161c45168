// Filesystem Hierarchy Standard 3.0: what a distribution leaves to others
const OTHERS = /^(?:opt|usr\/local|srv|home|root|var|tmp)\//

/** Whether a distribution leaves this place to others. */
export const isOthersPlace = (path: string): boolean => OTHERS.test(path)

// Debian's policies for Python (3.1), Java (2.3), JavaScript, Ruby and PHP, and the same places elsewhere
const PACKAGED = [
  /^usr\/lib(?:64)?\/python3(?:\.\d+)?\/(?:dist|site)-packages\/[^/]+\.(?:dist|egg)-info(?:\/|$)/,
  /^usr\/share\/(?:java|maven-repo)\/[^!]*$/,
  /^usr\/(?:share\/nodejs|lib\/nodejs)\/(?:@[^/]+\/)?[^/]+\/package\.json$/,
  /^usr\/(?:share\/(?:rubygems-integration|gems|ruby-vendor)|lib(?:64)?\/ruby)\//,
  /^usr\/share\/php\//,
]

/** Whether a path is where the distribution puts the libraries that it packages itself. A jar inside a jar is not. */
export function isPackagedPlace(path: string): boolean {
  const place = path.split('!/').length > 2 ? path : (path.split('!/')[0] ?? path)
  return PACKAGED.some(rule => rule.test(place))
}
