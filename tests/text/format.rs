//! The layout that the formatter gives a text.

use warplock::text;

#[test]
fn comments_stay_with_what_they_are_about() {
    let source = r"//! What it is.

protocol p // the name
// about N
param N in 1..        // how many
param  Stages in{8,4}// how deep

let half=((N))/2
pattern v[n in 0..N,m in 0..N]=(n<=m)&&!(m==(N-1))
mbarrier bar[2]{arrivals:((2*N)-(1-N))}
role r[i in 0..N]warp{// the role

  var x=0 var y = (1+2)*3 // two on a line
  // before the loop

  for m in row(v,i)any order{arrive bar[x] (if x==0 then 1 else 2) // count

  // at the end of the loop
  }
  wait bar[ // inside
    x] /* y
  */ y
}
// the end";
    let found = text::format(source).unwrap_err();
    assert_eq!(found[0].message, "expected an expression, found `/`");
    assert_eq!(
        found[0].hints[0].text,
        "comments begin with `//` and end with the line"
    );
    let source = source.replace("/* y\n  */ ", "");
    insta::assert_snapshot!(text::format(&source).unwrap(), @r"
    //! What it is.

    protocol p  // the name

    // about N
    param N in 1..          // how many
    param Stages in {8, 4}  // how deep

    let half = N / 2
    pattern v[n in 0..N, m in 0..N] = n <= m && !(m == N - 1)
    mbarrier bar[2] { arrivals: 2 * N - (1 - N) }

    role r[i in 0..N] warp {  // the role
        var x = 0
        var y = (1 + 2) * 3  // two on a line
        // before the loop

        for m in row(v, i) any order {
            arrive bar[x] (if x == 0 then 1 else 2)  // count

            // at the end of the loop
        }
        // inside
        wait bar[x] y
    }

    // the end
    ");
}

#[test]
fn alternatives_and_empty_blocks_are_laid_out() {
    let source = "protocol p param N in 1.. grid g[n in 0..N]launch any resident N{if n==0{}\
                  else if n==1{return}else{// last\n} for i in 0..n{} while_ = 1}";
    insta::assert_snapshot!(text::format(source).unwrap(), @r"
    protocol p

    param N in 1..

    grid g[n in 0..N] launch any resident N {
        if n == 0 {
        } else if n == 1 {
            return
        } else {  // last
        }
        for i in 0..n {}
        while_ = 1
    }
    ");
}
